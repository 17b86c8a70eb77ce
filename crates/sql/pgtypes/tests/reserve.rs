//! Statements end before the allocator's reserve does. A program of its own: what is known of the reserve is the process's.

use seriatim_pgtypes::memory;

#[test]
fn a_reserve_that_is_spent_ends_who_uses_it() {
    assert!(memory::check_reserve().is_ok(), "nobody uses it");
    memory::set_reserve_taken(1 << 20);
    memory::set_reserve_in_use();
    assert!(memory::check_reserve().is_ok() && !memory::is_reserve_in_use(), "there is memory again");
    memory::set_reserve_taken(100 << 20);
    assert!(memory::check_reserve().is_ok(), "something stays in it, and nobody asks for more");
    for _ in 0..3 {
        memory::set_reserve_in_use();
        let refused = memory::check_reserve().expect_err("a trial passes, but the reserve is spent");
        assert_eq!(refused.code(), "53200");
    }
    assert!(memory::check_reserve().is_ok());
}
