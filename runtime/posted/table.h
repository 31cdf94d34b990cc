/*
 * The calls of libc that may be posted, each with the symbols by which programs make it: the name
 * in COREHOP_SYSCALLS, then a symbol. Read several times by post.c, each time with another meaning.
 *
 * All of these take at most six arguments, all in general registers, and act on what threads of a
 * process share: files, sockets, names. None that only waits (epoll_wait, poll, nanosleep) is here,
 * since its thread would keep a core from others; none that means the kernel thread which makes it
 * (interposed.h); and neither fcntl nor ioctl, of which some do. Calls that libc makes of itself
 * are not caught.
 */
POSTED(read, read)
POSTED(read, __read_chk)
POSTED(write, write)
POSTED(readv, readv)
POSTED(writev, writev)
POSTED(pread, pread)
POSTED(pread, pread64)
POSTED(pwrite, pwrite)
POSTED(pwrite, pwrite64)
POSTED(recv, recv)
POSTED(recv, __recv_chk)
POSTED(recvfrom, recvfrom)
POSTED(recvfrom, __recvfrom_chk)
POSTED(recvmsg, recvmsg)
POSTED(send, send)
POSTED(sendto, sendto)
POSTED(sendmsg, sendmsg)
POSTED(sendfile, sendfile)
POSTED(sendfile, sendfile64)
POSTED(accept, accept)
POSTED(accept4, accept4)
POSTED(open, open)
POSTED(open, open64)
POSTED(open, __open_2)
POSTED(open, __open64_2)
POSTED(openat, openat)
POSTED(openat, openat64)
POSTED(openat, __openat_2)
POSTED(openat, __openat64_2)
POSTED(close, close)
POSTED(stat, stat)
POSTED(stat, stat64)
POSTED(lstat, lstat)
POSTED(lstat, lstat64)
POSTED(fstat, fstat)
POSTED(fstat, fstat64)
POSTED(fstatat, fstatat)
POSTED(fstatat, fstatat64)
POSTED(fsync, fsync)
POSTED(fdatasync, fdatasync)
