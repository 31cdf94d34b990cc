/* Two processes that serve alternately: each stores to shared pages, to private pages, and to data
 * that the kernel copies between them through a pipe. */

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 3 * 4096 };

static volatile char own[BYTES];

__attribute__((noinline)) void serve(volatile char *shared, const int *pipe, char *copy) {
    for (int place = 0; place < BYTES; place += 64) {
        shared[place]++;
        own[place]++;
    }
    if (write(pipe[1], (const char *)shared, 4096) != 4096 || read(pipe[0], copy, 4096) != 4096)
        _exit(1);
}

int main(void) {
    static char copy[4096];
    int pipes[2];
    int sharing = MAP_SHARED | MAP_ANONYMOUS;
    volatile char *shared = mmap(0, BYTES, PROT_READ | PROT_WRITE, sharing, -1, 0);
    if (pipe(pipes) != 0)
        return 1;
    serve(shared, pipes, copy);
    int child = fork();
    for (int request = 0; request < 6; request++)
        serve(shared, pipes, copy);
    return child > 0 && waitpid(child, 0, 0) != child;
}
