//! Which language is asked for, well-formed and not.

use http::HeaderValue;

use super::*;

fn asked(lines: &[&str]) -> Language {
    let mut headers = HeaderMap::new();
    for line in lines {
        let line = HeaderValue::from_bytes(line.as_bytes()).expect("a legal header value");
        headers.append(ACCEPT_LANGUAGE, line);
    }
    Language::of(&headers)
}

#[track_caller]
fn all_ask_for(language: Language, lines: &[&str]) {
    for line in lines {
        assert_eq!(asked(&[line]), language, "{line:?}");
    }
}

#[test]
fn the_higher_quality_wins_and_of_two_equal_ones_the_first() {
    all_ask_for(
        Language::Chinese,
        &[
            "zh",
            "ZH-cn",
            "zh-Hans",
            "zh-Hans-CN",
            "zh-CN,zh;q=0.9,en;q=0.5",
            "en;q=0.8, zh;q=0.801",
            "zh, en",
            "zh;q=1.000 , en ; q=1",
            "fr, zh;q=0.1",
            "fr;q=1, de;q=0.9, zh ;q=0.1",
            "zh;q=0.2,en;q=0.1,zh-CN;q=0.9",
        ],
    );
    all_ask_for(
        Language::English,
        &[
            "en",
            "EN-gb",
            "fr, en;q=0.5",
            "fr",
            "en, zh",
            "en-US,en;q=0.9,zh-CN;q=0.8",
            "zh;q=0.8, en;q=0.801",
            "english",
            "zhx",
            "",
        ],
    );
    assert_eq!(asked(&[]), Language::English);
}

#[test]
fn a_quality_of_zero_refuses_and_a_star_stands_for_the_rest() {
    all_ask_for(
        Language::Chinese,
        &["en;q=0, *", "*;q=0.1, en;q=0.0", "zh, *", "*;q=0.5, zh", "zh-TW;q=0, zh;q=0.5"],
    );
    all_ask_for(
        Language::English,
        &["*", "*;q=0", "zh;q=0", "zh;q=0, *", "en;q=0", "en;q=0, zh;q=0", "en, *", "zh;q=0.000"],
    );
}

#[test]
fn readers_of_other_characters_get_chinese_unless_they_say_otherwise() {
    all_ask_for(
        Language::Chinese,
        &["zh-TW", "zh-Hant-HK", "zh-TW, en;q=0.9", "zh-Hant-CN", "zh-Hant;q=0, zh-Hans"],
    );
    all_ask_for(Language::English, &["zh-TW;q=0.5, en", "zh-TW, zh;q=0.1, en;q=0.5", "zh-HK;q=0"]);
}

#[test]
fn what_is_malformed_counts_for_nothing() {
    all_ask_for(
        Language::English,
        &[
            "zh;q=2",
            "zh;q=1.001",
            "zh;q=0.1234",
            "zh;q=-1",
            "zh;q=.5",
            "zh;q=1e0",
            "zh;q=NaN",
            "zh;q =1",
            "zh;q",
            "zh;",
            "zh;x=1",
            "zh;q=1;x=1",
            "zh CN",
            "zh_CN",
            "zh-",
            "-zh",
            "zh-abcdefghi",
            "*-CN",
            "\u{4e2d}\u{6587}",
            ";q=1",
            ",,;,",
        ],
    );
    all_ask_for(Language::Chinese, &["en;q=x, zh", ", ,zh;q=1.,", "zh, ;;;"]);
}

#[test]
fn several_lines_are_one_list() {
    assert_eq!(asked(&["en;q=0.5", "zh"]), Language::Chinese);
    assert_eq!(asked(&["fr", "en", "zh"]), Language::English);
}
