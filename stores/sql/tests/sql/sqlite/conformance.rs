//! SQLite keeps every law of the contract. The clock is the host's.

use super::keys::{File, config};
use crate::subject::Shared;

async fn subject() -> Shared {
    let file = File::new();
    Shared::new(config(&file.path())).await.keeping(file.into_folder())
}

leasehold_conformance::laws_side_by_side!(subject().await);
