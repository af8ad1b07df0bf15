"""Labels of tenants: the same for a name and a server, unlike any other's."""

from fairlead.metrics.tenant_labels import HEX_DIGITS, key_of, label

KEY = key_of("7712944582409961894")


def test_a_label_is_the_same_after_a_restart_and_says_nothing_of_the_name() -> None:
    """It depends on the name and on the server, and has one length."""
    assert label(KEY, "acme") == label(key_of("7712944582409961894"), "acme")
    assert label(KEY, "acme") != label(KEY, "acme2")
    assert label(KEY, "acme") != label(key_of("7712944582409961895"), "acme")
    assert {HEX_DIGITS} == {len(label(KEY, name)) for name in ("a", "ä" * 128, "other")}


def test_jobs_without_a_tenant_stay_without() -> None:
    """An empty name tells nothing, and a hash of it would look like a tenant's."""
    assert "" == label(KEY, "")
