CREATE TABLE IF NOT EXISTS {table} (
    id          BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
    digest      BINARY(32)   NOT NULL,
    biz_type    VARCHAR(64)  NOT NULL,
    status      VARCHAR(10)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    token       BIGINT       NOT NULL,
    attempt     BINARY(16)   NOT NULL,
    fingerprint BINARY(32),
    outcome     LONGBLOB,
    expires_us  BIGINT       NOT NULL,
    purge_us    BIGINT       NOT NULL,
    stuck_us    BIGINT,
    created_us  BIGINT       NOT NULL,
    updated_us  BIGINT       NOT NULL,
    UNIQUE KEY digest (digest),
    KEY purge (purge_us)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;
CREATE TABLE IF NOT EXISTS {version} (
    version INT NOT NULL PRIMARY KEY
) ENGINE = InnoDB;
INSERT INTO {version} (version) VALUES (1);
