CREATE TABLE {table} (
    digest      BLOB    NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
    biz_type    TEXT    NOT NULL,
    status      TEXT    NOT NULL CHECK (status IN ('PROCESSING', 'SUCCESS', 'FAILED')),
    token       INTEGER NOT NULL,
    attempt     BLOB    NOT NULL,
    fingerprint BLOB,
    outcome     BLOB,
    expires_us  INTEGER NOT NULL,
    purge_us    INTEGER NOT NULL,
    stuck_us    INTEGER,
    created_us  INTEGER NOT NULL,
    updated_us  INTEGER NOT NULL
) STRICT;
CREATE INDEX {index} ON {table} (purge_us);
CREATE INDEX {stuck} ON {table} (stuck_us) WHERE stuck_us IS NOT NULL;
CREATE TABLE {version} (
    version INTEGER NOT NULL PRIMARY KEY
) STRICT;
INSERT INTO {version} (version) VALUES (1);
