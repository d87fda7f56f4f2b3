//! The list of all laws, and the macro that makes one test of each.
//!
//! The list is written once. The tests here keep it in step with the functions and with
//! `docs/contract.md`, both ways.

/// Passes the list of laws on to a macro of this crate.
#[doc(hidden)]
#[macro_export]
macro_rules! __laws {
    ($then:ident $given:tt) => {
        $crate::$then! { $given
            acquire::free_key_is_granted,
            acquire::duplicate_of_a_running_lease_is_in_flight,
            acquire::duplicate_of_a_kept_key_is_completed,
            acquire::late_lease_is_taken_over,
            acquire::key_that_is_gone_is_granted_anew,
            acquire::addresses_do_not_meet,
            acquire::every_bit_of_an_address_counts,
            commit::commit_counts_its_ttl_from_the_commit,
            commit::commit_within_the_grace_is_done,
            commit::commit_of_what_is_gone_is_superseded,
            commit::commit_after_a_takeover_is_superseded,
            commit::repeated_commit_is_done_and_moves_nothing,
            commit::outcome_without_room_is_left_out,
            commit::outcome_outlives_its_key,
            attach::attach_is_done_once,
            attach::attach_after_a_repeated_commit_is_done,
            attach::attach_before_the_commit_is_too_late,
            attach::attach_after_an_outcome_is_too_late,
            attach::attach_to_what_is_gone_is_too_late,
            attach::attach_after_a_takeover_is_too_late,
            attach::attach_without_room_is_refused,
            release::release_frees_the_key_at_once,
            release::release_within_the_grace_is_done,
            release::release_of_a_kept_key_is_superseded,
            release::release_of_what_is_gone_is_done,
            release::release_after_a_takeover_is_superseded,
            renew::renew_moves_the_deadline_both_ways,
            renew::renewed_lease_outlives_its_old_deadline,
            renew::shortened_lease_ends_early_as_asked,
            renew::renew_within_the_grace_is_done,
            renew::renew_of_what_is_gone_is_superseded,
            renew::renew_of_a_kept_key_is_superseded,
            renew::renew_after_a_takeover_is_superseded,
            expiry::lease_ends_on_read_and_never_early,
            expiry::kept_key_ends_on_read_and_never_early,
            expiry::renewed_lease_ends_on_read_and_never_early,
            expiry::grace_ends_on_read_and_never_early,
            expiry::longest_ttl_is_kept_whole,
            expiry::shortest_ttl_is_taken_and_ends,
            fingerprint::other_fingerprint_mismatches_in_flight,
            fingerprint::other_fingerprint_mismatches_when_kept,
            fingerprint::no_fingerprint_matches_everything,
            fingerprint::fingerprint_survives_a_renewal,
            fingerprint::fingerprint_survives_a_late_commit,
            fingerprint::takeover_replaces_the_fingerprint,
            fingerprint::fingerprint_goes_with_its_record,
            token::token_rises_with_every_grant,
            token::token_rises_over_many_grants,
            token::token_stays_with_its_lease,
            token::token_rises_across_a_restart,
            attempt::repeated_attempt_gets_no_second_lease,
            attempt::abandon_releases_the_lease_of_its_attempt,
            attempt::abandon_of_another_attempt_touches_nothing,
            attempt::abandon_of_a_kept_key_touches_nothing,
            attempt::abandon_after_a_takeover_touches_nothing,
            bound::bound_is_reached_exactly,
            bound::full_store_evicts_nothing,
            bound::present_key_is_never_full,
            bound::freed_key_gives_up_its_place,
            bound::late_lease_keeps_its_place,
            bound::kept_key_keeps_its_place_for_its_ttl,
            bound::shortened_end_gives_up_its_place,
            bound::lengthened_end_keeps_its_place,
            bound::keys_that_come_and_go_leave_no_entries,
            bound::ended_entries_all_make_way,
            operator::peek_sees_what_an_acquire_would_meet,
            operator::peek_changes_nothing,
            operator::forget_of_a_running_lease_supersedes_it,
            operator::forget_of_a_kept_key_frees_it,
            operator::forget_of_a_late_lease_ends_its_grace,
            operator::forget_of_what_is_gone_is_false,
            operator::sweep_touches_nothing_that_is_owed,
            operator::sweep_reclaims_and_counts_what_has_ended,
            foreign::lease_of_another_store_is_foreign,
            close::closed_store_refuses_every_acquire,
            close::closed_store_still_commits,
            close::closed_store_still_releases,
            close::closed_store_still_commits_late,
            concurrency::one_of_many_acquires_is_granted,
            concurrency::expired_lease_is_taken_over_by_one,
            concurrency::ended_key_is_granted_to_one,
            concurrency::key_has_one_holder_at_any_time,
            concurrency::late_commit_and_takeover_exclude_each_other,
            concurrency::commit_and_forget_leave_the_key_free,
            concurrency::renewal_that_is_done_is_never_swept,
            concurrency::bound_holds_under_contention,
            concurrency::one_key_at_the_last_place_is_never_full,
            concurrency::present_key_is_never_full_under_contention,
        }
    };
}

/// Makes one test of each law, named after it. Call it once in a module of its own.
///
/// Its argument is an expression of a [`Subject`](crate::Subject), evaluated anew for each law in
/// an async function (so it may await). The calling crate needs tokio with the features `macros`
/// and `rt-multi-thread`.
#[macro_export]
macro_rules! laws {
    ($subject:expr) => {
        $crate::__laws! { __law_tests ($subject) }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __law_tests {
    (($subject:expr) $($file:ident :: $law:ident,)*) => {
        $(
            #[::tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $law() {
                let subject = $subject;
                $crate::$file::$law(&subject).await;
            }
        )*
    };
}

/// Makes one test of all laws, which run side by side and are reported by name: for stores whose
/// clock is real, since a law mostly waits then. Call it once in a module of its own.
///
/// Its argument is as for [`laws!`](crate::laws), and so is what the calling crate needs.
#[macro_export]
macro_rules! laws_side_by_side {
    ($subject:expr) => {
        $crate::__laws! { __laws_side_by_side ($subject) }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __laws_side_by_side {
    (($subject:expr) $($file:ident :: $law:ident,)*) => {
        #[::tokio::test(flavor = "multi_thread", worker_threads = 4)]
        async fn every_law_holds() {
            let running = [$(
                (concat!(stringify!($file), "::", stringify!($law)), ::tokio::spawn(async move {
                    let subject = $subject;
                    $crate::$file::$law(&subject).await;
                })),
            )*];
            let mut broken = Vec::new();
            for (law, run) in running {
                if run.await.is_err() {
                    broken.push(law);
                }
            }
            assert!(broken.is_empty(), "{} laws are broken: {broken:?}", broken.len());
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __law_names {
    (() $($file:ident :: $law:ident,)*) => {
        &[$((stringify!($file), stringify!($law)),)*]
    };
}

/// File and name of every law.
#[doc(hidden)]
pub const LAWS: &[(&str, &str)] = crate::__laws! { __law_names () };

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::LAWS;

    const CONTRACT: &str = include_str!("../../../docs/contract.md");

    const SOURCES: [(&str, &str); 14] = [
        ("acquire", include_str!("acquire.rs")),
        ("commit", include_str!("commit.rs")),
        ("attach", include_str!("attach.rs")),
        ("release", include_str!("release.rs")),
        ("renew", include_str!("renew.rs")),
        ("expiry", include_str!("expiry.rs")),
        ("fingerprint", include_str!("fingerprint.rs")),
        ("token", include_str!("token.rs")),
        ("attempt", include_str!("attempt.rs")),
        ("bound", include_str!("bound.rs")),
        ("operator", include_str!("operator.rs")),
        ("foreign", include_str!("foreign.rs")),
        ("close", include_str!("close.rs")),
        ("concurrency", include_str!("concurrency.rs")),
    ];

    fn listed() -> BTreeSet<(String, String)> {
        LAWS.iter().map(|(file, law)| (file.to_string(), law.to_string())).collect()
    }

    #[test]
    fn list_and_functions_agree() {
        let mut found = BTreeSet::new();
        for (file, source) in SOURCES {
            for line in source.lines() {
                if let Some((law, _)) =
                    line.strip_prefix("pub async fn ").and_then(|rest| rest.split_once('<'))
                {
                    found.insert((file.to_owned(), law.to_owned()));
                }
            }
        }
        assert_eq!(listed(), found);
        assert_eq!(LAWS.len(), found.len(), "a law is listed twice");
    }

    #[test]
    fn list_and_contract_agree() {
        // Laws stand in backticks as `file::law`; nothing else there has that shape.
        let named: BTreeSet<_> = CONTRACT
            .split('`')
            .skip(1)
            .step_by(2)
            .filter_map(|quoted| quoted.split_once("::"))
            .map(|(file, law)| (file.to_owned(), law.to_owned()))
            .collect();
        assert_eq!(listed(), named);
    }
}
