//! What the names of the kernel's functions say about why it runs.
//!
//! The kernel is entered at few places, and each has a name of its own: those of Linux 5.8 and
//! later on x86-64 (arch/x86/entry/entry_64.S, arch/x86/include/asm/idtentry.h), which its own
//! symbols tell. A system call is known by its handler, since the number is in a register.

use corehop_traces::Trace;

/// Why the kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// The program asked for it.
    SystemCall,
    /// A device or a timer did, whatever ran.
    Interrupt,
    /// An instruction could not go on: a page fault, for one.
    Exception,
    /// There was nothing else to do.
    Idle,
    /// It ran when the recording of the thread began, or began with the thread.
    Other,
}

impl Reason {
    /// In a word, for scripts.
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

/// What names of functions begin with that make a system call up, in a module that
/// [is modelled](corehop_traces::Module::is_modelled): its name follows.
const MODELLED: &str = "modelled_";

/// What entering a function says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Door {
    /// The kernel is entered for this reason; interrupts and exceptions have names.
    In(Reason, String),
    /// This handles the system call of this name.
    Handler(String),
    /// With this code's end an interrupt or an exception is over.
    Out,
    /// Nothing.
    None,
}

impl Door {
    /// By function of a trace.
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

/// The name that the manual has for a call, where the kernel's own is older or newer.
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
