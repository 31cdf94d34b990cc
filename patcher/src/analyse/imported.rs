//! Imported functions whose calls may be delegated to another core.
//!
//! The code of such a call lies in another file, mostly in libc, which is never hooked. So its
//! returns cannot be hooked either. Instead, the stub in the caller's procedure linkage table
//! passes the call to the runtime. The runtime calls the function from its own frame
//! (runtime/hooks/enter.S), which unwinders can unwind. Three kinds of functions would break:
//! arguments on the stack would be one frame too high, a second return of one call would not find
//! the frame, and a function that looks up its caller would find the runtime. No file records which
//! functions these are. So this list contains functions of libc that are known to be safe, by their
//! prototypes in POSIX.1-2017 and the GNU C Library's manual: at most six arguments, all in
//! registers, and one return. Functions with `...` are included if they take at most six.

/// Memory.
const MEMORY: &str = "\
    malloc calloc realloc reallocarray free memalign posix_memalign aligned_alloc \
    malloc_usable_size malloc_trim mallinfo2 mmap mmap64 munmap mremap mprotect madvise msync \
    mlock munlock mlockall brk sbrk _Znwm _Znam _ZdlPv _ZdlPvm _ZdaPv _ZdaPvm";

/// Files by number.
const FILES: &str = "\
    open open64 __open_2 __open64_2 openat openat64 __openat_2 __openat64_2 creat creat64 \
    close read __read_chk pread pread64 __pread_chk __pread64_chk readv preadv preadv64 write \
    pwrite pwrite64 writev pwritev pwritev64 lseek lseek64 fsync fdatasync sync_file_range \
    ftruncate ftruncate64 truncate truncate64 fallocate fallocate64 posix_fallocate \
    posix_fallocate64 posix_fadvise posix_fadvise64 fcntl fcntl64 flock lockf lockf64 dup dup2 \
    dup3 pipe pipe2 sendfile sendfile64 splice copy_file_range ioctl isatty";

/// Names of files, and folders.
const NAMES: &str = "\
    stat stat64 lstat lstat64 fstat fstat64 fstatat fstatat64 statx statfs statfs64 fstatfs \
    fstatfs64 access faccessat unlink unlinkat rename renameat link linkat symlink symlinkat \
    readlink readlinkat __readlink_chk mkdir mkdirat rmdir mkfifo chmod fchmod chown fchown \
    lchown utime utimes utimensat futimens realpath __realpath_chk getcwd __getcwd_chk chdir \
    fchdir opendir fdopendir readdir readdir64 rewinddir closedir dirfd scandir scandir64 glob \
    glob64 globfree globfree64 mkstemp mkstemp64 mkostemp mkostemp64";

/// Connections and waiting for them.
const CONNECTIONS: &str = "\
    socket socketpair bind listen accept accept4 connect shutdown send sendto sendmsg sendmmsg \
    recv recvfrom __recv_chk __recvfrom_chk recvmsg recvmmsg getsockopt setsockopt getsockname \
    getpeername getaddrinfo freeaddrinfo inet_ntop inet_pton inet_addr inet_ntoa gai_strerror \
    poll __poll_chk ppoll select pselect epoll_create epoll_create1 epoll_ctl epoll_wait \
    epoll_pwait eventfd eventfd_read eventfd_write";

/// Buffered files and text; those with a `va_list` have it by its address.
const STREAMS: &str = "\
    fopen fopen64 fdopen freopen freopen64 fclose fread __fread_chk fread_unlocked fwrite \
    fwrite_unlocked fflush fgetc getc fgets __fgets_chk fputc putc putchar fputs puts ungetc \
    fseek fseeko fseeko64 ftell ftello ftello64 rewind feof ferror clearerr fileno setbuf \
    setvbuf getline getdelim __getdelim remove vprintf vfprintf vsprintf vsnprintf vasprintf \
    __vprintf_chk __vfprintf_chk __vsprintf_chk __vsnprintf_chk __vasprintf_chk vsyslog \
    __vsyslog_chk";

/// Bytes and texts in memory.
const TEXTS: &str = "\
    memcpy memmove mempcpy memset memcmp memchr memrchr memmem memccpy bcmp __memcpy_chk \
    __memmove_chk __mempcpy_chk __memset_chk explicit_bzero strlen strnlen strcmp strncmp \
    strcasecmp strncasecmp strcoll strcpy strncpy stpcpy stpncpy strcat strncat __strcpy_chk \
    __strncpy_chk __stpcpy_chk __strcat_chk __strncat_chk strchr strrchr strchrnul strstr \
    strcasestr strpbrk strspn strcspn strtok strtok_r strsep strdup strndup __strdup strtol \
    strtoll strtoul strtoull strtod strtold strtof atoi atol atoll atof strerror strerror_r \
    __xpg_strerror_r strxfrm qsort bsearch regcomp regexec regfree fnmatch crypt crypt_r iconv";

/// Times, and information about the process and its users.
const ENVIRONMENT: &str = "\
    time gettimeofday clock_gettime clock_getres clock_nanosleep nanosleep usleep sleep times \
    localtime localtime_r gmtime gmtime_r mktime timegm strftime ctime ctime_r asctime_r \
    difftime getenv secure_getenv setenv unsetenv putenv getrusage getrlimit getrlimit64 \
    getrandom getentropy rand rand_r srand random srandom random_r sysconf uname gethostname \
    getloadavg getpid getppid getuid geteuid getgid getegid getpwnam getpwnam_r getpwuid \
    getpwuid_r getgrnam getgrnam_r getgrgid_r";

/// Threads that wait for each other.
const LOCKS: &str = "\
    pthread_mutex_lock pthread_mutex_trylock pthread_mutex_timedlock pthread_mutex_unlock \
    pthread_mutex_init pthread_mutex_destroy pthread_cond_wait pthread_cond_timedwait \
    pthread_cond_clockwait pthread_cond_signal pthread_cond_broadcast pthread_rwlock_rdlock \
    pthread_rwlock_wrlock pthread_rwlock_tryrdlock pthread_rwlock_trywrlock \
    pthread_rwlock_unlock pthread_spin_lock pthread_spin_trylock pthread_spin_unlock sem_wait \
    sem_trywait sem_timedwait sem_post semop semtimedop pthread_getspecific \
    pthread_setspecific pthread_self sched_yield";

/// These come back twice, or never.
const OTHER_WAYS: &str = "\
    setjmp _setjmp __sigsetjmp sigsetjmp vfork fork _Fork longjmp _longjmp siglongjmp \
    __longjmp_chk exit _exit _Exit quick_exit abort __stack_chk_fail __assert_fail \
    __fortify_fail __chk_fail pthread_exit execve execv execvp execvpe execl execlp execle \
    fexecve __cxa_throw __cxa_rethrow _Unwind_Resume _ZSt9terminatev";

/// Whether a function of this name is known to be callable from another frame.
pub(super) fn can_be_called_through(imported: &str) -> bool {
    let known = [
        MEMORY,
        FILES,
        NAMES,
        CONNECTIONS,
        STREAMS,
        TEXTS,
        ENVIRONMENT,
        LOCKS,
    ];
    known.iter().any(|names| is_among(imported, names))
}

/// Whether a call of the function may end in another way than by exactly one return.
pub(super) fn ends_otherwise(imported: &str) -> bool {
    is_among(imported, OTHER_WAYS)
}

fn is_among(name: &str, names: &str) -> bool {
    names.split_ascii_whitespace().any(|known| known == name)
}
