//! Every text of every problem, in every language.
//!
//! Data alone. English is plain ASCII, so that it survives whatever reads it.

use leasehold::KeyError;

use super::{Language, ProblemKind};
use crate::key::InvalidKey;

/// The texts of one kind of problem in one language.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text {
    pub(super) title: &'static str,
    pub(super) detail: &'static str,
}

const fn text(title: &'static str, detail: &'static str) -> Text {
    Text { title, detail }
}

pub(super) const fn of(kind: ProblemKind, language: Language) -> Text {
    match language {
        Language::English => english(kind),
        Language::Chinese => chinese(kind),
    }
}

/// What stands between two sentences.
pub(super) const fn full_stop(language: Language) -> &'static str {
    match language {
        Language::English => ". ",
        Language::Chinese => "。",
    }
}

const fn english(kind: ProblemKind) -> Text {
    match kind {
        ProblemKind::InvalidKey => text(
            "The idempotency key is missing or invalid",
            "The request needs a valid idempotency key.",
        ),
        ProblemKind::InFlight => text(
            "A request with this idempotency key is in progress",
            "The first request with this key has not ended yet. Try again later with the same key.",
        ),
        ProblemKind::Duplicate => text(
            "A request with this idempotency key has already succeeded",
            "This request was carried out before and was not carried out again.",
        ),
        ProblemKind::NotReplayable => text(
            "The response to this idempotency key cannot be given again",
            "This request was carried out before and was not carried out again. Its response \
             was not kept, is still being sent, or belongs to another client.",
        ),
        ProblemKind::Mismatch => text(
            "This idempotency key was used for a different request",
            "The first request with this key was another one. A new request needs a new key.",
        ),
        ProblemKind::BodyTooLarge => text(
            "The request body is too large",
            "The body is larger than may be compared with the first request's, so the request was \
             not carried out.",
        ),
        ProblemKind::Full => text(
            "No more idempotency keys can be kept for now",
            "The store of idempotency keys is full, so the request was not carried out.",
        ),
        ProblemKind::StoreUnavailable => text(
            "The store of idempotency keys is unavailable",
            "The key could not be checked, so the request was not carried out.",
        ),
        ProblemKind::Overloaded => text(
            "Too many requests are running",
            "As many requests are running as may run at once, so this one was not carried out.",
        ),
        ProblemKind::BadRequest => text(
            "The request cannot be passed on",
            "The request is malformed or incomplete, so it was not carried out.",
        ),
        ProblemKind::RequestTimeout => text(
            "The request took too long to arrive",
            "The body did not arrive in time, so the request was not carried out.",
        ),
        ProblemKind::NotImplemented => text(
            "The gateway does not do what the request asks for",
            "This method or transfer coding is not supported.",
        ),
        ProblemKind::Internal => {
            text("The gateway has failed", "An internal error ended the request.")
        }
        ProblemKind::BadGateway => text(
            "The upstream service did not answer",
            "The upstream service could not be reached, or broke off before its answer.",
        ),
        ProblemKind::GatewayTimeout => text(
            "The upstream service did not answer in time",
            "The request may still be carried out.",
        ),
    }
}

const fn chinese(kind: ProblemKind) -> Text {
    match kind {
        ProblemKind::InvalidKey => text("幂等键缺失或无效", "该请求需要一个有效的幂等键。"),
        ProblemKind::InFlight => text(
            "使用此幂等键的请求正在处理中",
            "使用此键的首个请求尚未结束，请稍后使用同一个键重试。",
        ),
        ProblemKind::Duplicate => {
            text("使用此幂等键的请求已经成功", "该请求此前已执行成功，本次没有再次执行。")
        }
        ProblemKind::NotReplayable => text(
            "无法再次给出此幂等键对应的响应",
            "该请求此前已执行成功，本次没有再次执行。首次的响应未被保存、仍在发送中，或属于其他客户端。",
        ),
        ProblemKind::Mismatch => text(
            "此幂等键已用于另一个不同的请求",
            "使用此键的首个请求与本次请求不同。新的请求需要使用新的键。",
        ),
        ProblemKind::BodyTooLarge => {
            text("请求体过大", "请求体超过了可与首个请求进行比对的大小，因此该请求没有执行。")
        }
        ProblemKind::Full => {
            text("暂时无法保存更多的幂等键", "幂等键存储已满，因此该请求没有执行。")
        }
        ProblemKind::StoreUnavailable => {
            text("幂等键存储不可用", "无法检查该键，因此该请求没有执行。")
        }
        ProblemKind::Overloaded => {
            text("正在处理的请求过多", "同时处理的请求数已达上限，因此该请求没有执行。")
        }
        ProblemKind::BadRequest => text("无法转发该请求", "该请求格式错误或不完整，因此没有执行。"),
        ProblemKind::RequestTimeout => {
            text("接收请求超时", "请求体没有及时到达，因此该请求没有执行。")
        }
        ProblemKind::NotImplemented => {
            text("网关不支持该请求所要求的功能", "不支持此请求方法或传输编码。")
        }
        ProblemKind::Internal => text("网关出现故障", "内部错误导致该请求中止。"),
        ProblemKind::BadGateway => {
            text("上游服务没有响应", "无法连接上游服务，或上游服务在响应之前断开了连接。")
        }
        ProblemKind::GatewayTimeout => text("上游服务响应超时", "该请求可能仍会执行。"),
    }
}

/// Why a key that a header carries is none, in Chinese. The English text is the error's own.
pub(crate) fn chinese_reason(reason: InvalidKey) -> String {
    match reason {
        InvalidKey::Missing => "缺少该请求头".to_owned(),
        InvalidKey::Repeated => "该请求头出现了多次".to_owned(),
        InvalidKey::Unquoted => "键不是带双引号的字符串".to_owned(),
        InvalidKey::Malformed => "键不是格式正确的带双引号的字符串".to_owned(),
        InvalidKey::Key(KeyError::Empty) => "键为空".to_owned(),
        InvalidKey::Key(KeyError::TooLong { length, max }) => {
            format!("键的长度为 {length} 字节，最多允许 {max} 字节")
        }
        InvalidKey::Key(KeyError::InvalidByte { position }) => {
            format!("键在位置 {position} 处有一个字节不是可见的 ASCII 字符")
        }
        InvalidKey::Key(_) => "键无效".to_owned(),
    }
}

/// Why a principal cannot be told, by language.
pub(crate) const fn no_principal(language: Language) -> &'static str {
    match language {
        Language::English => "header is missing, which tells whose key it is",
        Language::Chinese => "缺少该请求头，无法确定键的归属",
    }
}
