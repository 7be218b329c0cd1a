// large_values: a closed loop of SETs or GETs of large values, for servers that speak RESP.
// Sends batches of DEPTH commands on each connection, a value from one buffer for all, and counts the bytes that come back
// (every reply has one known length), so that the client is not the bound: it copies nothing and parses nothing.
//   large_values PORT SET|GET CONNECTIONS DEPTH BYTES KEYS SECONDS
// All keys are set first. The first fifth of the time is not counted. Prints: rate, MB/s, p50 and p99 of a batch in us.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH_MAX = 64, INPUT_BYTES = 1 << 20, BATCHES_MAX = 4 << 20 };

typedef struct {
    int fd, part, parts, waits_to_send;
    long received, expected;        // bytes of this batch's replies
    double began;
    char heads[DEPTH_MAX][64];
    struct iovec out[2 * DEPTH_MAX];
} connection;

static int depth, keys, poll_fd, is_set;
static long length;
static char *value, *input;
static uint32_t seed = 12345;

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static void fail(const char *what) {
    printf("%s: %s\n", what, strerror(errno));
    exit(2);
}

static int set_head(char *to, int key) { return sprintf(to, "*3\r\n$3\r\nSET\r\n$8\r\nkey:%04d\r\n$%ld\r\n", key, length); }

// Sends what the kernel takes; the rest waits for EPOLLOUT.
static void send_parts(connection *c) {
    while (c->part < c->parts) {
        ssize_t sent = writev(c->fd, c->out + c->part, c->parts - c->part);
        if (sent < 0 && errno == EAGAIN) break;
        if (sent < 0) fail("writev");
        while (sent > 0) {
            struct iovec *at = &c->out[c->part];
            size_t gone = (size_t)sent < at->iov_len ? (size_t)sent : at->iov_len;
            at->iov_base = (char *)at->iov_base + gone;
            at->iov_len -= gone;
            sent -= gone;
            if (at->iov_len == 0) c->part++;
        }
    }

    int waits = c->part < c->parts;
    if (waits == c->waits_to_send) return;
    c->waits_to_send = waits;
    struct epoll_event change = {.events = EPOLLIN | (waits ? EPOLLOUT : 0), .data.ptr = c};
    epoll_ctl(poll_fd, EPOLL_CTL_MOD, c->fd, &change);
}

static void begin_batch(connection *c) {
    char bulk[32];
    c->part = c->parts = 0;
    for (int i = 0; i < depth; i++) {
        seed = seed * 1664525u + 1013904223u;
        int key = (int)((seed >> 8) % (uint32_t)keys);
        int head = is_set ? set_head(c->heads[i], key) : sprintf(c->heads[i], "*2\r\n$3\r\nGET\r\n$8\r\nkey:%04d\r\n", key);
        c->out[c->parts++] = (struct iovec){c->heads[i], (size_t)head};
        if (is_set) c->out[c->parts++] = (struct iovec){value, (size_t)length + 2};
    }

    c->received = 0;
    c->expected = depth * (is_set ? 5L : sprintf(bulk, "$%ld\r\n", length) + length + 2);       // "+OK\r\n"
    c->began = now_us();
    send_parts(c);
}

static void set_all_keys(int fd) {
    for (int key = 0; key < keys; key++) {
        char head[64];
        struct iovec parts[2] = {{head, (size_t)set_head(head, key)}, {value, (size_t)length + 2}};
        for (int i = 0; i < 2; i++)
            for (size_t done = 0; done < parts[i].iov_len;) {
                ssize_t sent = write(fd, (char *)parts[i].iov_base + done, parts[i].iov_len - done);
                if (sent < 0) fail("write");
                done += sent;
            }
        for (int got = 0; got < 5;) {
            ssize_t read_now = recv(fd, input + got, 5 - got, 0);
            if (read_now <= 0) fail("recv");
            got += read_now;
        }
        if (input[0] != '+') fail("a SET was refused");
    }
}

static int dial(int port) {
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) fail("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

int main(int count, char **words) {
    if (count != 8 || atoi(words[4]) > DEPTH_MAX) {
        printf("usage: large_values PORT SET|GET CONNECTIONS DEPTH BYTES KEYS SECONDS\n");
        return 2;
    }

    int connections = atoi(words[3]);
    is_set = strcmp(words[2], "SET") == 0;
    depth = atoi(words[4]);
    length = atol(words[5]);
    keys = atoi(words[6]);
    double seconds = atof(words[7]);
    value = malloc(length + 2);
    for (long i = 0; i < length; i++) value[i] = 'a' + i % 26;
    memcpy(value + length, "\r\n", 2);
    input = malloc(INPUT_BYTES);
    double *latencies = malloc(sizeof(double) * BATCHES_MAX);
    long batches = 0;
    poll_fd = epoll_create1(0);

    connection *all = calloc(connections, sizeof(connection));
    for (int i = 0; i < connections; i++) {
        all[i].fd = dial(atoi(words[1]));
        if (i == 0) set_all_keys(all[i].fd);
        fcntl(all[i].fd, F_SETFL, O_NONBLOCK);
        struct epoll_event change = {.events = EPOLLIN, .data.ptr = &all[i]};
        epoll_ctl(poll_fd, EPOLL_CTL_ADD, all[i].fd, &change);
    }

    double begin = now_us(), counted = begin + seconds * 0.2e6, end = begin + seconds * 1e6, now = begin;
    for (int i = 0; i < connections; i++) begin_batch(&all[i]);
    while (now < end) {
        struct epoll_event events[64];
        int ready = epoll_wait(poll_fd, events, 64, 100);
        now = now_us();
        for (int i = 0; i < ready; i++) {
            connection *c = events[i].data.ptr;
            if (events[i].events & EPOLLOUT) send_parts(c);
            if ((events[i].events & ~EPOLLOUT) == 0) continue;
            ssize_t got = recv(c->fd, input, INPUT_BYTES, 0);
            if (got < 0 && errno == EAGAIN) continue;
            if (got <= 0) fail("the server has closed the connection");
            if (c->received == 0 && input[0] == '-') fail("an error was answered");
            c->received += got;
            if (c->received < c->expected) continue;
            if (c->received > c->expected) fail("more was answered than asked for");
            now = now_us();
            if (now >= counted && batches < BATCHES_MAX) latencies[batches++] = now - c->began;
            begin_batch(c);
        }
    }

    qsort(latencies, batches, sizeof(double), by_size);
    double rate = batches * depth / ((now - counted) / 1e6);
    printf("%s %ld bytes: %.0f/s, %.0f MB/s, p50 %.0f us, p99 %.0f us\n", words[2], length, rate, rate * length / 1e6,
        batches ? latencies[batches / 2] : 0, batches ? latencies[batches * 99 / 100] : 0);
    return 0;
}
