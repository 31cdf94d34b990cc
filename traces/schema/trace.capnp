# The corehop trace format: what a server touched while it served requests.
#
# A trace file is a plain stream of Cap'n Proto messages, so anything that knows the format can read
# it:  capnp decode traces/schema/trace.capnp Entry < bank.trace
# What the columns mean, and why they are as they are, is told in docs/reference/trace-format.md.
#
# Every message has one segment, and its root struct directly follows the root pointer. The bytes of
# a message are therefore: 4 zero bytes, segment size in words (4), root pointer (8), sequence (4),
# checksum (4), magic (8), and whatever the entry holds. This never changes, so that a reader of any
# age can tell a trace from another file, a damaged one from a newer one, and find the next entry
# after a damaged one.

@0xc708c74f9441fc6e;

const magic :UInt64 = 0xe50a5017ce0c0c1d;
# In every entry, whatever the version.

const version :UInt16 = 4;
# The version that this schema describes. A reader refuses a larger one. Version 1 had no repeats in
# its blocks; version 2 no numbers and connections of requests, no notes, and nothing of a thread
# after a mark that began no request; version 3 no address spaces, so that it says nothing of which
# memory processes share, and no signal handlers. All are otherwise the same.

struct Entry {
  sequence @0 :UInt32;
  # 0, 1, 2, ... in file order: a missing or repeated entry shows.

  checksum @1 :UInt32;
  # CRC-32C of all bytes of the message, the 8 bytes before the segment included, with these four
  # taken as zero.

  magic @2 :UInt64;
  # Always the constant above.

  union {
    header @3 :Header;          # entry 0, and no other
    module @4 :Module;
    functions @5 :Functions;
    codeBlocks @6 :CodeBlocks;
    shapes @7 :Shapes;
    thread @8 :Thread;
    block @9 :Block;
    end @10 :End;               # the last entry; a recording that was cut off has none
    note @11 :Note;
    sharedObject @12 :SharedObject;
    mappings @13 :Mappings;
    signalHandlers @14 :SignalHandlers;
  }
  # Modules, functions, code blocks, shapes, threads and shared objects are numbered from 0 in the
  # order in which they stand in the file, each kind by itself, and stand before the first entry
  # that names them.
}

struct Column {
  # One value after another, little-endian and without padding, as one zstd frame.
  bytes @0 :UInt32;
  # Size once decompressed: the number of values times the size of one.
  frame @1 :Data;
}

struct Header {
  version @0 :UInt16;
  createdBy @1 :Text;           # program and its version
  command @2 :List(Text);       # the recorded command and its arguments
  requestAt @3 :Text;           # where a request begins, as given to the recorder
  qemuVersion @4 :Text;
  architecture @5 :Text;        # x86_64
  hasAddressSpaces @6 :Bool;
  # Each process has an address space of its own: equal addresses of two processes are different
  # memory, but where mappings say that both have the same bytes of one shared object. Where this is
  # false, equal addresses are the same memory, whatever process uses them.
}

struct Module {
  # A file mapped with executable pages.
  path @0 :Text;
  buildId @1 :Text;             # GNU build id in lower-case hexadecimal; empty when there is none
  loadBias @2 :UInt64;          # guest address = loadBias + virtual address in the ELF file
  start @3 :UInt64;             # guest addresses start .. end are the module's code
  end @4 :UInt64;
}

struct Functions {
  # Functions whose entry was executed while recording.
  count @0 :UInt32;
  modules @1 :Column;           # u32: module number
  offsets @2 :Column;           # u64: virtual address of the entry in the ELF file
  sizes @3 :Column;             # u64: size in bytes, 0 when unknown
  texts @4 :Column;
  # UTF-8, three texts a function, each ended by a zero byte: the linker symbol; the name for
  # people, which is empty when equal to the symbol and else follows '='; why the entry cannot be
  # patched, which is empty when it can and else follows '='.
}

struct CodeBlocks {
  # Straight-line runs of instructions, entered at the top only.
  count @0 :UInt32;
  starts @1 :Column;            # u64: guest address of the first instruction
  entries @2 :Column;           # u32: 1 + number of the function entered here, 0 when there is none
  instructionCounts @3 :Column; # u16, at least 1
  instructionSizes @4 :Column;  # u8: all blocks' instruction lengths in bytes, one after another
  dependenceCounts @5 :Column;
  # u16: number of dependences, at most 8192. Both columns are missing where none are known.
  dependences @6 :Column;
  # u32: all blocks' dependences, one after another, each block's in strictly ascending order as
  # numbers. In the upper 16 bits is a value, in the lower what it comes from; the highest two of 16
  # bits are a kind, the others a number. Values: 0, the address of the accesses of the instruction
  # at this place; 1, what the instruction at this place stores; 2, what this general register (as
  # x86-64 numbers them) holds at the end. Sources: 0, with number 0, no load; 1, the last load of
  # the instruction at this place, which comes before the value does; 2, what this general register
  # comes from at the beginning.
  pointerCounts @7 :Column;
  # u16: number of pointers, at most 528. Both columns are missing where none are known.
  pointers @8 :Column;
  # u64: all blocks' pointers, one after another, each block's in strictly ascending order of their
  # upper 16 bits, of which the highest two are a kind. Kind 0: the first data access of the
  # instruction at the place in bits 48-61 is as far as the signed number in bits 0-39 says from
  # what the general register in bits 40-47 (as x86-64 numbers them) held at the beginning. Kind 1:
  # so far from it is what the general register in bits 48-61 holds at the end. Kind 2, with zeroes
  # in bits 0-47: the register in bits 48-61 holds something else at the end. A register of which
  # neither is said holds what it held.
}

struct Shapes {
  # A shape is a code block together with the data accesses of one execution of it, all but their
  # addresses. A code block nearly always does the same, so it has one shape or a few.
  count @0 :UInt32;
  codeBlocks @1 :Column;        # u32: code block number
  accessCounts @2 :Column;      # u16: number of data accesses, at most 65 000
  accesses @3 :Column;
  # u32: all shapes' data accesses, one after another, in program order: bits 0-15 size in bytes, at
  # least 1; bit 16 set for a store; bits 17-31 the instruction's place in the code block, from 0.
}

struct Thread {
  processId @0 :UInt32;
  osThreadId @1 :UInt32;
}

struct Block {
  # A chunk of one thread's executions. The blocks of a thread stand in the order of execution.
  thread @0 :UInt32;
  executions @1 :UInt32;
  accesses @2 :UInt32;          # data accesses, the sum of the shapes' counts
  requests @3 :List(UInt32);
  # Places within the block, from 0, of the executions that begin a request; ascending. One that
  # equals `executions` ends the request before it and begins none: what the thread does in its next
  # block, up to its next mark, belongs to no request.
  runCount @4 :UInt32;
  runStamps @5 :Column;
  # u64: the first run's stamp, then each run's distance from the one before it, at least 1. A run
  # is a number of executions between which nothing is known of other threads. The runs of all
  # threads, sorted by stamp and then by thread, are the order of a replay. A block may begin with
  # the stamp that the thread's block before it ended with: that is one run, in two blocks.
  runLengths @6 :Column;        # u32: executions in the run, at least 1
  shapeCount @7 :UInt32;
  shapeNumbers @8 :Column;      # u32: the distinct shapes of the block, in order of first use
  shapesLow @9 :Column;         # u8: per execution, place of its shape in shapeNumbers, low byte
  shapesHigh @10 :Column;       # u8: and high byte

  # Addresses are predicted. Each data access of each shape of the block is a slot, which remembers
  # its last address, how far that was from its address before (the stride), and how far it was from
  # the address of the data access that came `base` data accesses earlier in the block, whatever
  # shape that was of. All begin at zero.
  bases @11 :Column;
  # u8: per slot, shapes in the order of shapeNumbers: its base, 1 to 15; or 0, for which the
  # distance is taken from address zero, so that the address itself is remembered.
  hows @12 :Column;
  # u8: per data access, how its address follows: 0, as far from its base's address as last time;
  # 1, last address + stride; 2, explicitly.
  explicitCount @13 :UInt32;
  regions @14 :Column;          # u64: distinct values of (address >> 16) among explicit addresses
  regionsLow @15 :Column;       # u8: per explicit address, its region, by place, low byte
  regionsHigh @16 :Column;      # u8: and high byte
  offsets @17 :Column;
  # u16: per explicit address, its low 16 bits less those of its slot's last address, modulo 2^16

  # Executions that do, address for address, what the thread did earlier in the block need not be
  # spelled out. The columns from shapesLow on hold the others only; slots neither see nor remember
  # repeats, and `base` counts without them.
  repeatCount @18 :UInt32;
  repeatsAfter @19 :Column;     # u32: executions spelled out since the repeat before
  repeatLengths @20 :Column;    # u32: executions repeated, at least 1
  repeatDistances @21 :Column;
  # u32: how many executions earlier the first of those repeated is, at least 1; it may be less than
  # the length, and the repeat then repeats itself

  requestNumbers @22 :List(UInt64);
  # Empty, or for each of `requests` its number among all requests that the server served while it
  # was being recorded, from 1; 0 where that is not known, or no request begins.
  requestConnections @23 :List(UInt64);
  # Empty, or for each of `requests` the connection that it came over, numbered from 1 as they were
  # accepted; 0 where that is not known, or no request begins.

  # The system calls that the thread made. A reader may pass them by: all else means the same.
  systemCallCount @24 :UInt32;  # at most 2^20; the columns are missing where it is 0
  systemCallsAfter @25 :Column;
  # u32: executions of the block between the call before, or the beginning of the block, and this
  # call. The last of them made the call; where there is none, one of the thread's block before did.
  systemCallNumbers @26 :Column;  # i32: as Linux numbers them
  systemCallsReturned @27 :Column;  # u8: 1 if the call was seen to return, 0 if not
  systemCallResults @28 :Column;
  # i64: what it returned, an error as its negative number; 0 where it was not seen to return
}

struct SharedObject {
  # Memory that several processes can have: the pages of a file, or of a segment without a name.
  name @0 :Text;                # for people: the path, as far as the system knows one
}

struct Mappings {
  # What a process has at some of its addresses. Where nothing is said of an address, the memory
  # there is the process's own.
  processId @0 :UInt32;
  all @1 :List(Mapping);

  # Where some of its pages, of 4096 bytes, are in physical memory. A reader may pass this by: all
  # else means the same. Those of the upper half of addresses are one for all processes.
  pageCount @2 :UInt32;         # at most 2^16; the columns are missing where it is 0
  pagesSince @3 :Column;
  # u64: holds from the runs with this stamp on, until a later one says otherwise of the same page;
  # of equal stamps the later in the file holds.
  pageNumbers @4 :Column;
  # u64: virtual address / 4096, below 2^52, less that of the page before, modulo 2^64
  pageDistances @5 :Column;
  # u64: the page's number less that of the physical page, which is below 2^35, modulo 2^64

  cpus @6 :List(OnCpu);
  # On which CPU of a machine its threads run. A reader may pass this by: all else means the same.

  lastingCalls @7 :List(LastingCall);
  # System calls that it made, at any time since it began, recorded or not, and after which the
  # kernel treats it or one of its threads otherwise. A reader may pass this by: all else means the
  # same.
}

struct LastingCall {
  number @0 :Int32;             # as Linux numbers them
  first @1 :UInt64;
  # Of prctl the option, of seccomp the operation, of ptrace the request.
  second @2 :UInt64;
  # Of prctl its second argument, of futex the command, of io_uring_setup the flags.
}

struct OnCpu {
  # Holds for the runs of the thread with this stamp and later ones, until a later one says
  # otherwise of the same thread; of equal stamps the later in the file holds.
  since @0 :UInt64;
  osThreadId @1 :UInt32;
  cpu @2 :UInt16;               # from 0
}

struct Mapping {
  # Holds from the runs with this stamp on, until a later one says otherwise; of mappings with equal
  # stamps the later in the file holds.
  since @0 :UInt64;
  start @1 :UInt64;             # addresses start .. end, below 2^47, both multiples of 4096
  end @2 :UInt64;
  object @3 :UInt32;            # 1 + the shared object's number; 0 for memory of the process's own
  offset @4 :UInt64;            # place of `start` in the object, a multiple of 4096 below 2^47
}

struct SignalHandlers {
  # Where signal handlers begin that the server has installed.
  addresses @0 :List(UInt64);   # guest addresses
}

struct Note {
  # What the user wrote while recording.
  requests @0 :UInt64;          # requests that the server had begun by then, recorded or not
  text @1 :Text;
}

struct End {
  reason @0 :Reason;
  message @1 :Text;             # what failed; empty otherwise
  executions @2 :UInt64;        # totals over the whole trace
  accesses @3 :UInt64;          # data accesses

  enum Reason {
    requestsReached @0;         # as many requests have ended as were asked for
    serverExited @1;
    interrupted @2;
    failed @3;
  }
}
