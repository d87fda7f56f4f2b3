CREATE TABLE {table} (
    digest      BYTEA       NOT NULL PRIMARY KEY CHECK (octet_length(digest) = 32),
    biz_type    VARCHAR(64) NOT NULL,
    status      VARCHAR(10) NOT NULL CHECK (status IN ('PROCESSING', 'SUCCESS', 'FAILED')),
    token       BIGINT      NOT NULL,
    attempt     BYTEA       NOT NULL,
    fingerprint BYTEA,
    outcome     BYTEA,
    expires_us  BIGINT      NOT NULL,
    purge_us    BIGINT      NOT NULL,
    stuck_us    BIGINT,
    created_us  BIGINT      NOT NULL,
    updated_us  BIGINT      NOT NULL
);
CREATE INDEX {index} ON {table} (purge_us);
CREATE INDEX {stuck} ON {table} (stuck_us) WHERE stuck_us IS NOT NULL;
CREATE TABLE {version} (
    version INTEGER NOT NULL PRIMARY KEY
);
INSERT INTO {version} (version) VALUES (1);
