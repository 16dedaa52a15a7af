/* An allocator that watches the edges: preloaded for test C13. Each block has a mark in front and
 * behind that is looked at when it is freed and at crosscut_heap_check(); freed blocks are filled
 * and kept for a while, to see who writes to them. What is wrong is said on stderr and ends the
 * process by SIGABRT. Over glibc's own allocator. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

extern void* __libc_malloc(size_t size);
extern void __libc_free(void* block);

#define LIVE UINT64_C(0x4c4956454c495645)
#define FREED UINT64_C(0x4652454546524545)
#define TAIL 16
#define TAIL_BYTE 0xB7
#define FREED_BYTE 0xDF
#define KEPT 4096
#define MOST_FILLED 65536

struct head {
  struct head *next, *previous;
  void* raw; /* what __libc_malloc gave */
  size_t size;
  uint64_t state;
  uint64_t padding;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct head live = {&live, &live, NULL, 0, LIVE, 0};
static struct head* kept[KEPT];
static size_t kept_at;

static void say(const char* what) {
  ssize_t n = write(2, "heap: ", 6);
  n += write(2, what, strlen(what));
  n += write(2, "\n", 1);
  (void)n;
  raise(SIGABRT);
}

static struct head* head_of(void* block) { return (struct head*)block - 1; }
static uint8_t* bytes_of(struct head* head) { return (uint8_t*)(head + 1); }

static void check_tail(struct head* head) {
  const uint8_t* tail = bytes_of(head) + head->size;
  int i;
  for (i = 0; i < TAIL; ++i) {
    if (tail[i] != TAIL_BYTE) say("something wrote behind the end of a block of malloc");
  }
}

static size_t filled(const struct head* head) {
  return head->size < MOST_FILLED ? head->size : MOST_FILLED;
}

static void check_freed(struct head* head) {
  const uint8_t* bytes = bytes_of(head);
  size_t i;
  for (i = 0; i < filled(head); ++i) {
    if (bytes[i] != FREED_BYTE) say("something wrote to a block after it was freed");
  }
}

static void* allocate(size_t size, size_t alignment) {
  uint8_t *raw, *at;
  struct head* head;
  if (size > PTRDIFF_MAX - sizeof *head - TAIL - alignment) {
    errno = ENOMEM;
    return NULL;
  }
  raw = __libc_malloc(size + sizeof *head + TAIL + alignment);
  if (raw == NULL) return NULL;
  at = raw + sizeof *head;
  at += (alignment - (uintptr_t)at % alignment) % alignment;
  head = head_of(at);
  head->raw = raw;
  head->size = size;
  head->state = LIVE;
  memset(at + size, TAIL_BYTE, TAIL);
  pthread_mutex_lock(&lock);
  head->next = &live;
  head->previous = live.previous;
  live.previous->next = head;
  live.previous = head;
  pthread_mutex_unlock(&lock);
  return at;
}

void* malloc(size_t size) { return allocate(size, 16); }

void free(void* block) {
  struct head *head, *oldest;
  if (block == NULL) return;
  head = head_of(block);
  if (head->state == FREED) say("a block is freed twice");
  if (head->state != LIVE) say("free() got what malloc never gave");
  check_tail(head);
  pthread_mutex_lock(&lock);
  head->state = FREED;
  head->previous->next = head->next;
  head->next->previous = head->previous;
  memset(block, FREED_BYTE, filled(head));
  oldest = kept[kept_at];
  kept[kept_at] = head;
  kept_at = (kept_at + 1) % KEPT;
  pthread_mutex_unlock(&lock);
  if (oldest == NULL) return;
  check_freed(oldest);
  __libc_free(oldest->raw);
}

void* calloc(size_t count, size_t size) {
  void* block;
  if (size != 0 && count > SIZE_MAX / size) {
    errno = ENOMEM;
    return NULL;
  }
  block = malloc(count * size);
  if (block != NULL) memset(block, 0, count * size);
  return block;
}

void* realloc(void* block, size_t size) {
  void* larger;
  size_t old;
  if (block == NULL) return malloc(size);
  if (size == 0) {
    free(block);
    return NULL;
  }
  larger = malloc(size);
  if (larger == NULL) return NULL;
  old = head_of(block)->size;
  memcpy(larger, block, old < size ? old : size);
  free(block);
  return larger;
}

int posix_memalign(void** block, size_t alignment, size_t size) {
  *block = allocate(size, alignment < 16 ? 16 : alignment);
  return *block == NULL ? ENOMEM : 0;
}
void* aligned_alloc(size_t alignment, size_t size) {
  return allocate(size, alignment < 16 ? 16 : alignment);
}
void* memalign(size_t alignment, size_t size) { return aligned_alloc(alignment, size); }
void* valloc(size_t size) { return allocate(size, (size_t)sysconf(_SC_PAGESIZE)); }
size_t malloc_usable_size(void* block) { return block == NULL ? 0 : head_of(block)->size; }

__attribute__((visibility("default"))) void crosscut_heap_check(void) {
  struct head* at;
  size_t i;
  pthread_mutex_lock(&lock);
  for (at = live.next; at != &live; at = at->next) check_tail(at);
  for (i = 0; i < KEPT; ++i) {
    if (kept[i] != NULL) check_freed(kept[i]);
  }
  pthread_mutex_unlock(&lock);
}
