//! A program does not notice that its threads are moved.
//!
//! Each trial of the fixtures prints its findings, unpatched and under each backend: they must be
//! the same. The trials represent kinds of programs that once broke, and each is named after its
//! kind.

use crate::workshop::notices::{BACKENDS, Notices};
use crate::workshop::run;
use std::process::Command;

fn signals() -> Notices {
    Notices::of("notices_signals")
}

fn rights() -> Notices {
    Notices::of("notices_rights")
}

fn processes() -> Notices {
    Notices::of("notices_processes")
}

fn rings() -> Notices {
    Notices::of("notices_rings")
}

fn locks() -> Notices {
    Notices::of("notices_locks")
}

fn threads() -> Notices {
    Notices::of("notices_threads")
}

fn waits() -> Notices {
    Notices::of("notices_waits")
}

fn stacks() -> Notices {
    Notices::of("notices_stacks")
}

fn inherited() -> Notices {
    Notices::of("notices_inherited")
}

fn numbers() -> Notices {
    Notices::of("notices_numbers")
}

/// What the runtime prints where a mutex changes priorities.
fn of_priorities(backend: &str) -> &'static str {
    match backend {
        "carrier" | "auto" => {
            "corehop: carrier: a mutex changes its owner's priority: from here on affinity\n"
        }
        _ => "",
    }
}

#[test]
fn a_thread_that_blocks_broken_pipes_gets_an_error_and_no_signal() {
    signals().same("broken pipe");
}

#[test]
fn a_signal_that_a_thread_sends_to_itself_comes_before_the_call_returns() {
    signals().same("signals to itself");
}

#[test]
fn threads_may_cancel_themselves_and_each_other() {
    signals().same("cancellation");
}

#[test]
fn a_program_may_set_every_signal_to_its_default_or_to_a_handler() {
    signals().same("signal 16");
}

#[test]
fn the_user_of_one_thread_is_nobody_elses() {
    rights().same("user of one thread");
}

#[test]
fn no_carrier_keeps_the_user_that_a_process_had() {
    let rights = rights();
    rights.same("user of carriers");
    rights.same("user in handler");
}

#[test]
fn a_process_that_is_stopped_and_continued_goes_on() {
    signals().same("stops");
}

#[test]
fn second_names_of_functions_do_what_the_first_ones_do() {
    processes().same("second names");
}

#[test]
fn a_thread_comes_home_although_no_more_signals_may_be_pending() {
    signals().same("full queue");
}

#[test]
fn what_is_no_handler_is_refused() {
    signals().same("no handler");
}

#[test]
fn the_working_directory_of_one_thread_is_nobody_elses() {
    rights().same("folder of one thread");
}

#[test]
fn a_handler_may_be_left_by_a_jump() {
    signals().same("jumps out of handlers");
}

#[test]
fn what_is_started_has_all_cpus_and_no_signal_blocked() {
    rights().same("starts");
}

#[test]
fn children_by_clone_have_no_carriers_of_their_parents() {
    processes().same("children by clone");
}

#[test]
fn a_child_is_traced_by_its_parent() {
    processes().same("traced");
}

#[test]
fn a_fork_without_functions_calls_none() {
    processes().same("fork without functions");
}

#[test]
fn a_process_in_the_background_is_stopped_where_it_changes_its_terminal() {
    processes().same("background");
}

#[test]
fn new_threads_have_the_rights_of_the_thread_that_started_them() {
    let inherited = inherited();
    let trials = ["rights of new threads", "files of new threads"];
    for trial in trials
        .into_iter()
        .chain(["folder of new threads", "restricted"])
    {
        inherited.same(trial);
    }
}

#[test]
fn a_process_with_one_thread_left_may_change_its_namespaces() {
    inherited().same("namespaces");
}

#[test]
fn the_descriptors_of_one_thread_are_nobody_elses() {
    inherited().same("descriptors");
}

#[test]
fn calls_by_number_are_about_the_thread_that_makes_them() {
    let numbers = numbers();
    for trial in ["processors", "clocks", "signals", "masks", "actions"] {
        numbers.same(trial);
    }
}

#[test]
fn a_lock_by_number_that_changes_priorities_is_locked_and_unlocked_at_home() {
    let notices = numbers();
    for backend in BACKENDS {
        let moved = notices.same_under(backend, "owner");
        assert_eq!(moved.errors, of_priorities(backend), "{backend}");
    }
}

#[test]
fn a_thread_that_places_itself_stays_there() {
    let rights = rights();
    rights.same("places itself");
    rights.same("placed by another");
    rights.same("placed before");
    rights.same("starts on one");
}

#[test]
fn a_thread_that_is_asked_for_its_processors_has_those_of_the_program() {
    rights().same("asked by another");
}

#[test]
fn processor_time_never_runs_backwards() {
    rights().same("clocks");
}

#[test]
fn a_wait_with_a_mask_of_its_own_is_ended_by_the_signals_that_this_lets_through() {
    signals().same("waits with a mask");
}

#[test]
fn coroutines_go_on_where_they_are_linked_to() {
    let rights = rights();
    rights.same("coroutines");
    rights.same("small coroutine");
}

#[test]
fn a_jump_restores_the_mask_that_setjmp_itself_has_saved() {
    signals().same("saved mask");
}

#[test]
fn system_calls_of_a_thread_may_be_signals() {
    signals().same("user dispatch");
}

#[test]
fn calls_that_wait_end_with_eintr_where_the_handler_says_so() {
    signals().same("interrupted calls");
}

#[test]
fn a_program_that_filters_system_calls_runs_on_without_hops() {
    let (rights, numbers) = (rights(), numbers());
    let trials = [
        (&rights, "filter"),
        (&numbers, "filter"),
        (&rights, "filter for all"),
        (&rights, "user behind a filter"),
    ];
    for (notices, trial) in trials {
        for backend in BACKENDS {
            let moved = notices.same_under(backend, trial);
            let expected = match backend {
                "off" => "",
                _ => {
                    "corehop: the program filters its system calls: from here on without hops, \
                     and without statistics\n"
                }
            };
            assert_eq!(moved.errors, expected, "{trial} under {backend}");
        }
    }
}

#[test]
fn a_process_ends_with_its_last_thread_even_if_only_the_kernel_is_told() {
    let notices = processes();
    for backend in BACKENDS {
        let moved = notices.same_under(backend, "last thread");
        let expected = match backend {
            "carrier" | "auto" => {
                "corehop: a thread ends by the system call exit: from here on without hops, and \
                 without statistics\n"
            }
            _ => "",
        };
        assert_eq!(moved.errors, expected, "{backend}");
    }
}

#[test]
fn the_kernel_tells_the_thread_that_asked_for_it_of_a_folders_changes() {
    processes().same("notified");
}

#[test]
fn threads_behind_a_blocked_one_go_on_where_the_kernel_has_no_more_threads() {
    rights().same("no more threads");
}

#[test]
fn no_thread_hops_to_a_core_for_which_the_kernel_has_no_thread() {
    rights().same("threads for one core");
}

#[test]
fn a_handler_sees_what_was_sent_along_with_its_signal() {
    signals().same("sent along");
}

#[test]
fn a_write_in_a_batch_that_stalls_is_interrupted_as_bare() {
    let notices = signals();
    let bare = notices.bare("stalled write");
    let mut command = notices.command("carrier", "stalled write");
    let posted = run(command.env("COREHOP_SYSCALLS", "write@batch"));
    assert!(posted.status.success(), "{}", posted.errors);
    assert_eq!(posted.output, bare.output);
}

#[test]
fn how_a_thread_is_scheduled_is_its_own() {
    threads().same("scheduled");
}

#[test]
fn a_thread_that_another_one_schedules_is_scheduled_so_wherever_it_was() {
    threads().same("scheduled by another");
}

#[test]
fn threads_may_place_and_schedule_each_other() {
    threads().same("each other");
}

#[test]
fn the_runtime_takes_no_descriptor_that_the_program_expects() {
    let (threads, trial) = (threads(), "lowest descriptor");
    let mut command = threads.command("carrier", trial);
    // It looks at other load, and stays.
    let moved = run(command.env("COREHOP_RUN_DELAY", "99"));
    assert_eq!(moved.output, threads.bare(trial).output, "{}", moved.errors);
}

#[test]
fn a_thread_keeps_its_name() {
    threads().same("name");
}

#[test]
fn a_ring_of_one_thread_is_used_by_that_thread() {
    rings().same("own ring");
}

#[test]
fn what_is_under_way_in_a_ring_of_the_programs_goes_on_when_carriers_end() {
    rings().same("ring under way");
}

#[test]
fn a_thread_may_register_restartable_sequences_later() {
    threads().same("restartable sequences");
}

#[test]
fn a_file_that_has_the_number_of_standard_error_gets_no_message() {
    threads().same("standard error");
}

#[test]
fn a_mutex_that_changes_priorities_is_locked_and_unlocked_at_home() {
    let notices = threads();
    for backend in BACKENDS {
        let moved = notices.same_under(backend, "priority");
        assert_eq!(moved.errors, of_priorities(backend), "{backend}");
    }
}

#[test]
fn a_robust_mutex_tells_that_its_holder_ended_wherever_threads_are() {
    let locks = locks();
    locks.same("holders that end");
    locks.same("lost lock");
}

#[test]
fn a_robust_mutex_tells_that_the_process_of_its_holder_was_killed() {
    locks().same("process that ends");
}

#[test]
fn a_robust_mutex_with_priority_inheritance_tells_that_its_holder_ended() {
    let notices = locks();
    for backend in BACKENDS {
        notices.same_under(backend, "holders with priority");
    }
}

#[test]
fn threads_that_cannot_be_started_leave_nothing_behind() {
    locks().same("threads that cannot start");
}

#[test]
fn blocks_of_other_allocators_are_freed_by_other_threads() {
    let notices = locks();
    for library in ["libjemalloc.so.2", "libtcmalloc_minimal.so.4"] {
        let preloaded = format!("/usr/lib/x86_64-linux-gnu/{library}");
        let mut bare = Command::new(&notices.plain);
        let bare = run(bare.arg("blocks").env("LD_PRELOAD", &preloaded));
        let own = format!(
            "{}: yes\n",
            if library.contains("jemalloc") {
                "mallctl"
            } else {
                "tc_malloc"
            }
        );
        assert!(bare.output.contains(&own), "{}{}", bare.output, bare.errors);
        for backend in BACKENDS {
            let mut command = notices.command(backend, "blocks");
            let moved = run(command.env("LD_PRELOAD", &preloaded));
            let said = (moved.status.code(), &moved.output, &*moved.errors);
            assert_eq!(
                said,
                (Some(0), &bare.output, ""),
                "{library} under {backend}"
            );
        }
    }
}

#[test]
fn a_thread_with_a_segment_of_its_own_keeps_it() {
    locks().same("segments");
}

#[test]
fn a_thread_that_allocates_nothing_has_no_arena() {
    threads().same("addresses");
}

#[test]
fn a_program_at_a_fixed_address_may_take_the_addresses_of_functions() {
    let flags = ["-std=c++20", "-no-pie", "-fno-pie", "-mcmodel=small"];
    Notices::built("notices_threads", &flags).same("function addresses");
}

#[test]
fn a_program_that_forbids_the_time_stamp_counter_runs_on_without_hops() {
    let notices = threads();
    for backend in BACKENDS {
        let moved = notices.same_under(backend, "time stamps");
        let expected = match backend {
            "off" => "",
            _ => {
                "corehop: the program forbids the time-stamp counter: from here on without hops, \
                 and without statistics\n"
            }
        };
        assert_eq!(moved.errors, expected, "{backend}");
    }
}

#[test]
fn handlers_of_faults_run_on_the_alternate_stack_of_their_thread() {
    let stacks = stacks();
    let first = ["overflows", "mends", "broken pipe", "raises"];
    for trial in first.into_iter().chain(["no stack", "disarms", "endings"]) {
        stacks.same(trial);
    }
}

#[test]
fn what_the_kernel_keeps_for_one_thread_is_there_wherever_it_was() {
    let kernel = Notices::of("notices_kernel");
    let first = ["file too large", "kind of system", "keyring"];
    let more = ["signals as data", "attributes"];
    let ends = ["undone at the end", "death of a parent"];
    for trial in first.into_iter().chain(more).chain(ends) {
        kernel.same(trial);
    }
}

#[test]
fn handlers_of_faults_may_be_left_by_exceptions_and_by_other_contexts() {
    let flags = ["-std=c++20", "-fnon-call-exceptions"];
    let faults = Notices::built("notices_faults", &flags);
    for trial in ["exceptions", "exceptions within", "contexts"] {
        faults.same(trial);
    }
}

#[test]
fn a_wait_is_cancelled_while_it_lasts() {
    waits().same("cancelled waits");
}

#[test]
fn a_wait_goes_on_where_its_thread_is_called_home() {
    waits().same("waits of the rescheduled");
}

#[test]
fn a_transfer_goes_on_to_its_end_where_its_thread_is_called_home() {
    waits().same("transfers of the rescheduled");
}
