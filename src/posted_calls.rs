//! Validates `--system-calls` before anything is started. Otherwise a server would report on
//! standard error, minutes later, that no call is asynchronous.

use corehop_runtime::calls::{Call, postable};

/// The highest core number (runtime/posted/post.c).
const MOST_CORE: u32 = 63;

/// The text requests something that the runtime does not support.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCalls {
    #[error("missing @TARGET, e.g. recv,send,poll@batch or read,write@1")]
    NoPlace,
    #[error("'{0}' is not a target: use a core up to {MOST_CORE}, yield, batch, or batch:CORE")]
    UnknownPlace(String),
    #[error("'{name}' cannot be made there; supported calls: {can}")]
    UnknownCall { name: String, can: String },
}

/// Returns the same text, if the runtime supports these calls at this target.
pub fn checked(text: &str) -> Result<String, BadCalls> {
    let (calls, place) = text.rsplit_once('@').ok_or(BadCalls::NoPlace)?;
    let is_core = |digits: &str| {
        let is_number = digits.bytes().all(|digit| digit.is_ascii_digit());
        is_number && digits.parse().is_ok_and(|core: u32| core <= MOST_CORE)
    };
    let in_batches = is_in_batches(text);
    let core = place.strip_prefix("batch:").unwrap_or(place);
    if !["batch", "yield"].contains(&place) && !is_core(core) {
        return Err(BadCalls::UnknownPlace(place.into()));
    }
    let may = |call: &Call| match in_batches {
        true => call.in_batches,
        false => call.elsewhere,
    };
    let can = postable().into_iter().filter(may).map(|call| call.name);
    let can: Vec<&str> = can.collect();
    // All calls that can be batched.
    if calls.is_empty() && in_batches {
        return Ok(text.into());
    }
    match calls.split(',').find(|name| !can.contains(name)) {
        None => Ok(text.into()),
        Some(name) => Err(BadCalls::UnknownCall {
            name: name.into(),
            can: can.join(", "),
        }),
    }
}

/// Returns whether calls that were [`checked`] are batched.
pub fn is_in_batches(text: &str) -> bool {
    let place = text.rsplit_once('@').map_or("", |(_, place)| place);
    place == "batch" || place.starts_with("batch:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_places_are_those_of_the_runtime() {
        for good in [
            "read@1",
            "open,read@63",
            "read,write@yield",
            "poll,recv@batch",
            "@batch",
        ] {
            assert_eq!(checked(good), Ok(good.into()));
            assert_eq!(is_in_batches(good), good.ends_with("batch"));
        }
        assert_eq!(checked("@batch:1"), Ok("@batch:1".into()));
        assert!(checked("send,epoll_wait@batch:3").is_ok_and(|text| is_in_batches(&text)));
        for bad in [
            "read",
            "read@",
            "read@64",
            "read@+1",
            "read@batch:",
            "read@batched",
        ] {
            let why = checked(bad).unwrap_err();
            assert!(!matches!(why, BadCalls::UnknownCall { .. }), "{bad}");
        }
        for bad in [
            "@1",
            "read,@1",
            "poll@1",
            "epoll_wait@yield",
            "open@batch",
            "fork@batch:1",
        ] {
            let why = checked(bad).unwrap_err();
            assert!(matches!(why, BadCalls::UnknownCall { .. }), "{bad}");
        }
    }
}
