"""One rule for percentages, in Python; tests/report compares the page's."""

from kleene.evaluation.percent import percent, probability_text


def test_no_share_reads_as_none_or_all_unless_it_is() -> None:
    shares = (0, 1e-9, 0.0004, 0.5, 0.9996, 1 - 1e-9, 1)
    assert [percent(share) for share in shares] == [
        *("0 %", "< 0.1 %", "< 0.1 %", "50.0 %", "> 99.9 %", "> 99.9 %", "100 %")
    ]
    for thousandths in range(1, 1000):
        assert percent(thousandths / 1000) not in ("0.0 %", "100.0 %")


def test_a_probability_is_never_certain() -> None:
    assert [probability_text(one) for one in (0.0, 1.0)] == ["< 0.1 %", "> 99.9 %"]
