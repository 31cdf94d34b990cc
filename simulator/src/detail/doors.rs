//! Recognises from kernel function names why the kernel runs.
//!
//! The kernel has few entry points, each with its own name: those of Linux 5.8 and later on x86-64
//! (arch/x86/entry/entry_64.S, arch/x86/include/asm/idtentry.h), from the kernel's own symbols. A
//! system call is identified by its handler, because its number is in a register.

use corehop_traces::Trace;

/// Why the kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// The program made a system call.
    SystemCall,
    /// A device or a timer raised an interrupt.
    Interrupt,
    /// An instruction raised an exception, for example a page fault.
    Exception,
    /// The core was idle.
    Idle,
    /// The kernel was running when the recording of the thread, or the thread itself, began.
    Other,
}

impl Reason {
    /// Returns a keyword for scripts.
    pub fn key(self) -> &'static str {
        match self {
            Reason::SystemCall => "system-call",
            Reason::Interrupt => "interrupt",
            Reason::Exception => "exception",
            Reason::Idle => "idle",
            Reason::Other => "other",
        }
    }
}

/// Prefix of functions that model a system call, in a module that [is
/// modelled](corehop_traces::Module::is_modelled); the call's name follows.
const MODELLED: &str = "modelled_";

/// The meaning of entering a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Door {
    /// The kernel is entered for this reason; interrupts and exceptions have names.
    In(Reason, String),
    /// The function handles the system call of this name.
    Handler(String),
    /// The code ends an interrupt or an exception.
    Out,
    /// No meaning.
    None,
}

impl Door {
    /// Returns the meaning of each function of a trace.
    pub fn of(trace: &Trace) -> Vec<Door> {
        let is_kernels = |module: u32| trace.modules()[module as usize].start >> 63 == 1;
        let functions = trace.functions().iter();
        functions
            .map(|function| match is_kernels(function.module) {
                true => Door::named(&function.symbol),
                false => Door::None,
            })
            .collect()
    }

    fn named(symbol: &str) -> Door {
        let entered = |reason, name: &str| Door::In(reason, name.to_owned());
        match symbol {
            "entry_SYSCALL_64"
            | "entry_SYSCALL_compat"
            | "entry_SYSENTER_compat"
            | "entry_INT80_compat" => return entered(Reason::SystemCall, ""),
            "asm_common_interrupt" | "asm_spurious_interrupt" | "asm_exc_nmi" => {
                return entered(Reason::Interrupt, &symbol["asm_".len()..]);
            }
            "do_idle" | "cpu_startup_entry" => return entered(Reason::Idle, "idle"),
            "native_irq_return_iret" => return Door::Out,
            _ => {}
        }
        if let Some(name) = symbol.strip_prefix(MODELLED) {
            return entered(Reason::SystemCall, name);
        }
        let handlers = [
            "__x64_sys_",
            "__ia32_sys_",
            "__ia32_compat_sys_",
            "__do_sys_",
        ];
        let mut handled = handlers.iter().filter_map(|of| symbol.strip_prefix(of));
        if let Some(name) = handled.next() {
            return Door::Handler(in_the_manual(name).to_owned());
        }
        if let Some(name) = symbol.strip_prefix("asm_sysvec_") {
            return entered(Reason::Interrupt, name);
        }
        match symbol.strip_prefix("asm_exc_") {
            Some(name) => entered(Reason::Exception, name),
            None => Door::None,
        }
    }
}

/// Returns the manual's name of a call if the kernel's own is older or newer.
fn in_the_manual(name: &str) -> &str {
    match name {
        "newstat" => "stat",
        "newlstat" => "lstat",
        "newfstat" => "fstat",
        "newuname" => "uname",
        "sendfile64" => "sendfile",
        "umount" => "umount2",
        _ => name,
    }
}
