/*
 * The calls of libc that may be posted, with one line per symbol of each: the name in
 * COREHOP_SYSCALLS, the symbol, and how it becomes a request of a ring (batch.c). post.c includes
 * this file several times, each time with another definition of POSTED.
 *
 * All of these take at most seven arguments, none in vector registers, and act on resources that
 * the threads of a process share: files, sockets, names. Two calls that only wait can be posted
 * only in rings, since on another core they would block that core for other threads. No call acts
 * on the calling kernel thread (interposed.h). Some requests of fcntl and ioctl do, so both are
 * excluded. Calls within libc are not intercepted.
 */
POSTED(read, read, READS)
POSTED(read, __read_chk, READS_CHECKED)
POSTED(write, write, WRITES)
POSTED(readv, readv, READS_VECTOR)
POSTED(writev, writev, WRITES_VECTOR)
POSTED(pread, pread, MADE_ALONE)
POSTED(pread, pread64, MADE_ALONE)
POSTED(pwrite, pwrite, MADE_ALONE)
POSTED(pwrite, pwrite64, MADE_ALONE)
POSTED(recv, recv, RECEIVES)
POSTED(recv, __recv_chk, RECEIVES_CHECKED)
POSTED(recvfrom, recvfrom, RECEIVES_FROM)
POSTED(recvfrom, __recvfrom_chk, RECEIVES_FROM_CHECKED)
POSTED(recvmsg, recvmsg, RECEIVES_MESSAGE)
POSTED(recvmmsg, recvmmsg, MADE_ALONE)
POSTED(send, send, SENDS)
POSTED(sendto, sendto, SENDS_TO)
POSTED(sendmsg, sendmsg, SENDS_MESSAGE)
POSTED(sendmmsg, sendmmsg, MADE_ALONE)
POSTED(sendfile, sendfile, MADE_ALONE)
POSTED(sendfile, sendfile64, MADE_ALONE)
POSTED(accept, accept, MADE_ALONE)
POSTED(accept4, accept4, MADE_ALONE)
POSTED(open, open, MADE_ALONE)
POSTED(open, open64, MADE_ALONE)
POSTED(open, __open_2, MADE_ALONE)
POSTED(open, __open64_2, MADE_ALONE)
POSTED(openat, openat, MADE_ALONE)
POSTED(openat, openat64, MADE_ALONE)
POSTED(openat, __openat_2, MADE_ALONE)
POSTED(openat, __openat64_2, MADE_ALONE)
POSTED(close, close, MADE_ALONE)
POSTED(stat, stat, MADE_ALONE)
POSTED(stat, stat64, MADE_ALONE)
POSTED(lstat, lstat, MADE_ALONE)
POSTED(lstat, lstat64, MADE_ALONE)
POSTED(fstat, fstat, MADE_ALONE)
POSTED(fstat, fstat64, MADE_ALONE)
POSTED(fstatat, fstatat, MADE_ALONE)
POSTED(fstatat, fstatat64, MADE_ALONE)
POSTED(fsync, fsync, MADE_ALONE)
POSTED(fdatasync, fdatasync, MADE_ALONE)
POSTED(poll, poll, POLLS)
POSTED(epoll_wait, epoll_wait, WAITS_FOR_EVENTS)
