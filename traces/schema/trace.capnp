# The corehop trace format: the memory accesses of a server while it served requests.
#
# A trace file is a plain stream of Cap'n Proto messages, so standard Cap'n Proto tools can read it:
#   capnp decode traces/schema/trace.capnp Entry < bank.trace
# docs/reference/trace-format.md explains the columns and the reasons for their design.
#
# Every message has one segment, and its root struct directly follows the root pointer. The bytes of
# a message are therefore: 4 zero bytes, segment size in words (4), root pointer (8), sequence (4),
# checksum (4), magic (8), and the content of the entry. This layout never changes, so every reader
# can distinguish a trace from another file and a damaged trace from a newer one. It can also find
# the next entry after a damaged one.

@0xc708c74f9441fc6e;

const magic :UInt64 = 0xe50a5017ce0c0c1d;
# In every entry of every version.

const version :UInt16 = 4;
# The version that this schema describes. A reader refuses a larger one. Older versions lack:
# version 1, repeats in blocks;
# version 2, numbers and connections of requests, notes, and executions of a thread after a mark
# that begins no request;
# version 3, signal handlers, and address spaces, so the memory that processes share is unknown.
# All versions are otherwise the same.

struct Entry {
  sequence @0 :UInt32;
  # 0, 1, 2, ... in file order, so that readers detect a missing or repeated entry.

  checksum @1 :UInt32;
  # CRC-32C of all bytes of the message, including the 8 bytes before the segment. These four bytes
  # count as zero.

  magic @2 :UInt64;
  # Always the constant above.

  union {
    header @3 :Header;          # only entry 0
    module @4 :Module;
    functions @5 :Functions;
    codeBlocks @6 :CodeBlocks;
    shapes @7 :Shapes;
    thread @8 :Thread;
    block @9 :Block;
    end @10 :End;               # the last entry; missing if the recording was cut off
    note @11 :Note;
    sharedObject @12 :SharedObject;
    mappings @13 :Mappings;
    signalHandlers @14 :SignalHandlers;
  }
  # Modules, functions, code blocks, shapes, threads and shared objects are numbered from 0 in file
  # order, each kind separately. They precede the first entry that refers to them.
}

struct Column {
  # Values in sequence, little-endian and without padding, as one zstd frame.
  bytes @0 :UInt32;
  # Decompressed size: the number of values times the size of one value.
  frame @1 :Data;
}

struct Header {
  version @0 :UInt16;
  createdBy @1 :Text;           # the program and its version
  command @2 :List(Text);       # the recorded command and its arguments
  requestAt @3 :Text;           # where a request begins, as specified to the recorder
  qemuVersion @4 :Text;
  architecture @5 :Text;        # x86_64
  hasAddressSpaces @6 :Bool;
  # If true, each process has a separate address space. Equal addresses of two processes are then
  # different memory, unless both have mapped the same bytes of one shared object there. If false,
  # equal addresses are the same memory in all processes.
}

struct Module {
  # A file mapped with executable pages.
  path @0 :Text;
  buildId @1 :Text;             # GNU build id in lower-case hexadecimal; empty when there is none
  loadBias @2 :UInt64;          # guest address = loadBias + virtual address in the ELF file
  start @3 :UInt64;             # the module's code has the guest addresses start .. end
  end @4 :UInt64;
}

struct Functions {
  # Functions whose entry was executed during the recording.
  count @0 :UInt32;
  modules @1 :Column;           # u32: module number
  offsets @2 :Column;           # u64: virtual address of the entry in the ELF file
  sizes @3 :Column;             # u64: size in bytes, 0 if unknown
  texts @4 :Column;
  # UTF-8, three zero-terminated texts per function. First: the linker symbol. Second: '=' and the
  # readable name, or empty if the name equals the symbol. Third: '=' and the reason why the entry
  # cannot be patched, or empty if it can be.
}

struct CodeBlocks {
  # Straight-line runs of instructions that are entered only at the top.
  count @0 :UInt32;
  starts @1 :Column;            # u64: guest address of the first instruction
  entries @2 :Column;           # u32: 1 + number of the function entered here, 0 if there is none
  instructionCounts @3 :Column; # u16, at least 1
  instructionSizes @4 :Column;  # u8: instruction lengths in bytes, concatenated over all blocks
  dependenceCounts @5 :Column;
  # u16: number of dependences, at most 8192. Both columns are missing if no dependences are known.
  dependences @6 :Column;
  # u32: dependences, concatenated over all blocks. Those of a block are in strictly ascending
  # numeric order. The upper 16 bits are a value, the lower 16 bits its source. The top two bits of
  # each half are a kind, the other 14 a number: the index of an instruction in the block or an
  # x86-64 general register.
  # Kinds of values: 0, the address of the instruction's accesses; 1, the value that the instruction
  # stores; 2, the value of the register at the end.
  # Kinds of sources: 0, with number 0, no load; 1, the last load of the instruction, which precedes
  # the value; 2, the source of the register's initial value.
  pointerCounts @7 :Column;
  # u16: number of pointers, at most 528. Both columns are missing if no pointers are known.
  pointers @8 :Column;
  # u64: pointers, concatenated over all blocks. Those of a block are in strictly ascending order of
  # their upper 16 bits. Bits 62-63 are a kind. In kinds 0 and 1, bits 0-39 are a signed distance in
  # bytes from the initial value of the x86-64 general register in bits 40-47.
  # Kind 0: the first data access of the instruction with the index in bits 48-61 is at this
  # distance.
  # Kind 1: the final value of the general register in bits 48-61 is at this distance.
  # Kind 2, with zeros in bits 0-47: the register in bits 48-61 has an unrelated value at the end.
  # A register with neither a kind 1 nor a kind 2 entry is unchanged.
}

struct Shapes {
  # A shape is a code block with the data accesses of one execution, except their addresses. The
  # accesses of a code block rarely vary, so it has one or a few shapes.
  count @0 :UInt32;
  codeBlocks @1 :Column;        # u32: code block number
  accessCounts @2 :Column;      # u16: number of data accesses, at most 65 000
  accesses @3 :Column;
  # u32: data accesses in program order, concatenated over all shapes. Bits 0-15: size in bytes, at
  # least 1. Bit 16: set for a store. Bits 17-31: the instruction's index in the code block, from 0.
}

struct Thread {
  processId @0 :UInt32;
  osThreadId @1 :UInt32;
}

struct Block {
  # A chunk of one thread's executions. The blocks of a thread are in the order of execution.
  thread @0 :UInt32;
  executions @1 :UInt32;
  accesses @2 :UInt32;          # data accesses, the sum of the shapes' counts
  requests @3 :List(UInt32);
  # Indices within the block, from 0, of the executions that begin a request; ascending. An index
  # equal to `executions` ends the preceding request and begins none. The thread's executions from
  # its next block up to its next mark then belong to no request.
  runCount @4 :UInt32;
  runStamps @5 :Column;
  # u64: the stamp of the first run, then for each run its distance from the previous stamp, at
  # least 1. A run is a sequence of executions during which the progress of other threads is
  # unknown. A replay plays the runs of all threads sorted by stamp and then by thread. If a block
  # begins with the last stamp of the thread's previous block, one run continues across both.
  runLengths @6 :Column;        # u32: executions in the run, at least 1
  shapeCount @7 :UInt32;
  shapeNumbers @8 :Column;      # u32: the distinct shapes of the block, in order of first use
  shapesLow @9 :Column;         # u8: per execution, index of its shape in shapeNumbers, low byte
  shapesHigh @10 :Column;       # u8: the same, high byte

  # Addresses are predicted. Each data access of each shape of the block is a slot. A slot remembers
  # its last address, and that address's distance from two others: the slot's previous address (the
  # stride) and its base. The base is the address of the data access `base` data accesses earlier in
  # the block, whatever its shape. All of these are initially zero.
  bases @11 :Column;
  # u8: for each slot, with shapes in the order of shapeNumbers, its `base`, 1 to 15. If 0, the base
  # is address zero, so that the slot remembers the address itself.
  hows @12 :Column;
  # u8: the prediction of each data access: 0, the base plus the last distance from it; 1, the last
  # address plus the stride; 2, none: the address is explicit.
  explicitCount @13 :UInt32;
  regions @14 :Column;          # u64: distinct values of (address >> 16) among explicit addresses
  regionsLow @15 :Column;       # u8: per explicit address, index of its region, low byte
  regionsHigh @16 :Column;      # u8: the same, high byte
  offsets @17 :Column;
  # u16: for each explicit address, its low 16 bits minus those of its slot's last address, modulo
  # 2^16

  # A repeat replaces executions that have the same shapes and addresses as earlier executions of
  # the block. The columns from shapesLow on contain only the other (literal) executions. Slots
  # ignore repeats, and `base` does not count them.
  repeatCount @18 :UInt32;
  repeatsAfter @19 :Column;     # u32: literal executions since the previous repeat
  repeatLengths @20 :Column;    # u32: executions repeated, at least 1
  repeatDistances @21 :Column;
  # u32: distance back to the first repeated execution, in executions, at least 1. If it is less
  # than the length, the repeat overlaps itself.

  requestNumbers @22 :List(UInt64);
  # Empty, or for each of `requests` its number, from 1, among all requests that the server served
  # while it was recorded; 0 if the number is unknown or no request begins.
  requestConnections @23 :List(UInt64);
  # Empty, or for each of `requests` its connection, numbered from 1 in order of acceptance; 0 if
  # the connection is unknown or no request begins.

  # The thread's system calls. Readers may ignore them; no other field depends on them.
  systemCallCount @24 :UInt32;  # at most 2^20; if it is 0, the columns are missing
  systemCallsAfter @25 :Column;
  # u32: executions between the previous call (or the beginning of the block) and this call. The
  # last of them made the call; if there is none, an execution of the thread's previous block did.
  systemCallNumbers @26 :Column;  # i32: Linux system call number
  systemCallsReturned @27 :Column;  # u8: 1 if the recorder observed the return, 0 if not
  systemCallResults @28 :Column;
  # i64: the result, an error as its negative number; 0 if the return was not observed
}

struct SharedObject {
  # Memory that several processes can map: the pages of a file or of an unnamed segment.
  name @0 :Text;                # informative: the path, if the system knows one
}

struct Mappings {
  # The mappings of a process. Memory at addresses without a mapping is private to the process.
  processId @0 :UInt32;
  all @1 :List(Mapping);

  # The physical location of some of the process's pages of 4096 bytes. Readers may ignore it; no
  # other field depends on it. All processes share the pages of the upper half of addresses.
  pageCount @2 :UInt32;         # at most 2^16; if it is 0, the columns are missing
  pagesSince @3 :Column;
  # u64: the location holds for runs with this stamp and later ones, until a later location of the
  # same page replaces it. If stamps are equal, the later in the file holds.
  pageNumbers @4 :Column;
  # u64: virtual address / 4096, below 2^52, minus that of the previous page, modulo 2^64
  pageDistances @5 :Column;
  # u64: the page's number minus that of the physical page, which is below 2^35, modulo 2^64

  cpus @6 :List(OnCpu);
  # The CPUs on which the process's threads run. Readers may ignore them; no other field depends on
  # them.

  lastingCalls @7 :List(LastingCall);
  # System calls of the process since its start, recorded or not, that change how the kernel treats
  # it or one of its threads from then on. Readers may ignore them; no other field depends on them.

  # Objects on the heap, as calls of allocators begin and end them. Readers may ignore them; no
  # other field depends on them.
  allocators @8 :List(Text);
  # Further allocator functions. They are numbered from 0 over all entries, in file order.
  heapEventCount @9 :UInt32;    # at most 2^16; if it is 0, the columns are missing
  heapEventsSince @10 :Column;
  # u64: the event comes before runs with this stamp and later ones; minus that of the previous
  # event in the entry, modulo 2^64. If stamps are equal, events happen in file order.
  heapEventAddresses @11 :Column;
  # u64: the first byte, below 2^47; minus that of the previous event, modulo 2^64
  heapEventSizes @12 :Column;
  # u64: bytes from there on, which end at 2^47 or below. If no function is named, 0 means that the
  # object which begins there ends. Otherwise what remains of an object before and behind the bytes
  # are objects.
  heapEventFunctions @13 :Column;
  # u16: 1 + the number of the allocator that returned the object, which ends all objects that it
  # overlaps; 0: the bytes belong to no object
  heapEventSites @14 :Column;
  # u64: guest address behind the call of the allocator; 0 if no function is named
}

struct LastingCall {
  number @0 :Int32;             # Linux system call number
  first @1 :UInt64;
  # For prctl the option, for seccomp the operation, for ptrace the request.
  second @2 :UInt64;
  # For prctl the second argument, for futex the command, for io_uring_setup the flags.
}

struct OnCpu {
  # The CPU of a thread. It holds for the thread's runs with the stamp `since` and later ones, until
  # a later entry for the same thread. If stamps are equal, the later in the file holds.
  since @0 :UInt64;
  osThreadId @1 :UInt32;
  cpu @2 :UInt16;               # from 0
}

struct Mapping {
  # Holds for runs with the stamp `since` and later ones, until a later mapping replaces it. If
  # stamps are equal, the later mapping in the file holds.
  since @0 :UInt64;
  start @1 :UInt64;             # addresses start .. end, below 2^47, both multiples of 4096
  end @2 :UInt64;
  object @3 :UInt32;            # 1 + the shared object's number; 0 for private memory
  offset @4 :UInt64;            # offset of `start` in the object, a multiple of 4096 below 2^47
}

struct SignalHandlers {
  # The entry points of the signal handlers that the server has installed.
  addresses @0 :List(UInt64);   # guest addresses
}

struct Note {
  # A note that the user wrote during the recording.
  requests @0 :UInt64;          # requests begun by the server until then, recorded or not
  text @1 :Text;
}

struct End {
  reason @0 :Reason;
  message @1 :Text;             # the failure; empty for other reasons
  executions @2 :UInt64;        # totals over the whole trace
  accesses @3 :UInt64;          # data accesses

  enum Reason {
    requestsReached @0;         # the requested number of requests has ended
    serverExited @1;
    interrupted @2;
    failed @3;
  }
}
