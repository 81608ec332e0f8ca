#include "store/log_index.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* walformat.html, 2: an index consists of blocks. It begins with two copies of its header, followed
 * by checkpoint data. */
#define HEADER_BYTES 136
#define BLOCK_BYTES  32768

/* Store used by the current thread. File scope, because a signal handler has no argument; see
 * tests/structure.sh. */
static _Thread_local struct store_log_index *inside;

/* Parser state of one line of /proc/self/maps, "55d4e000-55d50000 rw-s 00000000 fe:01 1234 /path";
 * proc(5). */
struct mapping {
    uintptr_t from, to;
    int field, column; /* 0 from, 1 to, 2 permissions, 3 the rest */
    bool is_writable, is_shared;
};

static unsigned digit(char c) { return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10; }

/* Parses one more byte. Returns true at the end of the line. */
static bool parse_byte(struct mapping *line, char c)
{
    if (c == '\n')
        return true;
    if (line->field < 3 && c == (line->field == 0 ? '-' : ' ')) {
        line->field++;
        line->column = 0;
        return false;
    }
    if (line->field == 0)
        line->from = line->from << 4 | digit(c);
    else if (line->field == 1)
        line->to = line->to << 4 | digit(c);
    else if (line->field == 2 && line->column == 1)
        line->is_writable = c == 'w';
    else if (line->field == 2 && line->column == 3)
        line->is_shared = c == 's';
    line->column++;
    return false;
}

/* True when the address is in writable shared memory. Safe in a signal handler: no library, no
 * allocation. */
static bool is_shared(int maps, uintptr_t address)
{
    char text[2048];
    struct mapping line = {0};
    ssize_t length;
    for (off_t at = 0; (length = pread(maps, text, sizeof text, at)) > 0; at += length)
        for (ssize_t i = 0; i < length; i++) {
            if (!parse_byte(&line, text[i]))
                continue;
            if (address >= line.from && address < line.to)
                return line.is_writable && line.is_shared;
            line = (struct mapping){0};
        }
    return false;
}

static bool put_zeroes(uintptr_t address)
{
    uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)(address & ~(size - 1));
    return mmap(page, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                0) == page;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    int before = errno;
    uintptr_t address = (uintptr_t)info->si_addr;
    if (inside != NULL && info->si_code == BUS_ADRERR && is_shared(inside->maps, address) &&
        put_zeroes(address)) {
        inside->is_lost = 1;
    } else {
        signal(number, SIG_DFL);
        raise(number); /* delivered on return, at the original place */
    }
    errno = before;
}

void store_log_index_init(struct store_log_index *index)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_RESTART};
    *index = (struct store_log_index){.maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC)};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

void store_log_index_done(struct store_log_index *index)
{
    if (index->maps >= 0)
        close(index->maps);
    index->maps = -1;
}

void store_log_index_enter(struct store_log_index *index)
{
    index->is_lost = 0;
    inside = index;
}

void store_log_index_leave(void) { inside = NULL; }

bool store_log_index_is_lost(void) { return inside != NULL && inside->is_lost; }

void store_log_index_lose(void)
{
    if (inside != NULL)
        inside->is_lost = 1;
}

bool store_log_index_is_cut(const char *path)
{
    char name[PATH_MAX];
    struct stat status;
    snprintf(name, sizeof name, "%s-shm", path);
    return lstat(name, &status) == 0 && S_ISREG(status.st_mode) && status.st_size < BLOCK_BYTES;
}

/* walformat.html, 2.1: numbers in native byte order. */
struct header {
    uint32_t version, unused, changes;
    uint8_t is_made, is_big_endian;
    uint16_t page_bytes; /* 1 is 65536 */
    uint32_t frames, pages, sum[2];
    uint8_t salt[8]; /* as in the log */
    uint32_t unused_sum[2], copy[12];
    uint32_t frames_in_database;
};

/* Returns the log that the connection has open, NULL none. */
static sqlite3_file *log_of(sqlite3 *db)
{
    sqlite3_file *log = NULL;
    return sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) == SQLITE_OK &&
                   log != NULL && log->pMethods != NULL
               ? log
               : NULL;
}

/* Reads the header through SQLite's mapping: opening and closing the file here would drop SQLite's
 * locks on it. Without an open log, as in a file cut to nothing, SQLite would never unmap it. */
static bool read_header(sqlite3 *db, struct header *ret)
{
    sqlite3_file *file = NULL;
    void volatile *block = NULL;
    if (log_of(db) == NULL ||
        sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
        file == NULL || file->pMethods == NULL || file->pMethods->iVersion < 2 ||
        file->pMethods->xShmMap(file, 0, BLOCK_BYTES, 0, &block) != SQLITE_OK || block == NULL)
        return false;
    memcpy(ret, (void *)block, sizeof *ret);
    return !store_log_index_is_lost() && ret->is_made != 0;
}

static int64_t page_bytes(const struct header *header)
{
    return header->page_bytes == 1 ? 65536 : header->page_bytes;
}

enum { LOG_HEADER = 32, FRAME_HEADER = 24, SALT_AT = 8, SUM_AT = 16, LOG_SUM_AT = 24 };

static uint32_t number(const uint8_t *bytes, bool is_big_endian)
{
    return is_big_endian ? (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
                               (uint32_t)bytes[2] << 8 | bytes[3]
                         : (uint32_t)bytes[3] << 24 | (uint32_t)bytes[2] << 16 |
                               (uint32_t)bytes[1] << 8 | bytes[0];
}

/* Adds to a checksum: fileformat2.html, 4.2. bytes is a multiple of 8. */
static void add_to_sum(const struct header *header, uint32_t sum[2], const uint8_t *text, int bytes)
{
    for (int i = 0; i < bytes; i += 8) {
        sum[0] += number(text + i, header->is_big_endian) + sum[1];
        sum[1] += number(text + i + 4, header->is_big_endian) + sum[0];
    }
}

static bool has_sum(const uint8_t *text, const uint32_t sum[2])
{
    return number(text, true) == sum[0] && number(text + 4, true) == sum[1];
}

static bool read_log(sqlite3_file *log, void *ret, int bytes, int64_t at)
{
    return log->pMethods->xRead(log, ret, bytes, at) == SQLITE_OK; /* a short read is an error */
}

static int64_t frame_begin(const struct header *header, uint32_t frame)
{
    return LOG_HEADER + (int64_t)(frame - 1) * (FRAME_HEADER + page_bytes(header));
}

/* Checks the header of the log: fileformat2.html, 4.1. */
static bool has_log_header(sqlite3_file *log, const struct header *header)
{
    uint8_t text[LOG_HEADER];
    uint32_t sum[2] = {0};
    if (!read_log(log, text, LOG_HEADER, 0) ||
        number(text, true) != (header->is_big_endian ? 0x377f0683 : 0x377f0682) ||
        memcmp(text + 16, header->salt, sizeof header->salt) != 0)
        return false;
    add_to_sum(header, sum, text, LOG_SUM_AT);
    return has_sum(text + LOG_SUM_AT, sum);
}

/* Checks a frame. sum is the previous frame's checksum, then this one's. */
static bool has_frame(sqlite3_file *log, const struct header *header, uint32_t frame,
                      uint32_t sum[2])
{
    enum { CHUNK = 4096 };
    uint8_t head[FRAME_HEADER], text[CHUNK];
    int64_t begin = frame_begin(header, frame), page = page_bytes(header);
    int chunk = page < CHUNK ? (int)page : CHUNK;
    if (!read_log(log, head, FRAME_HEADER, begin) ||
        memcmp(head + SALT_AT, header->salt, sizeof header->salt) != 0)
        return false;
    add_to_sum(header, sum, head, SALT_AT);
    for (int64_t at = 0; at < page; at += chunk) {
        if (!read_log(log, text, chunk, begin + FRAME_HEADER + at))
            return false;
        add_to_sum(header, sum, text, chunk);
    }
    return has_sum(head + SUM_AT, sum);
}

/* Checks the frames from the last checked one to the newest, as SQLite's recovery does. A cut
 * removes the end, so earlier frames are intact if that one is. */
static bool has_frames(sqlite3_file *log, const struct header *header, const struct store_log *seen)
{
    bool is_same =
        memcmp(seen->salt, header->salt, sizeof seen->salt) == 0 && seen->frames <= header->frames;
    uint32_t frame = is_same && seen->frames > 0 ? seen->frames : 1;
    uint8_t text[8];
    if (header->frames == 0)
        return true;
    if (!has_log_header(log, header) ||
        !read_log(log, text, sizeof text,
                  frame == 1 ? LOG_SUM_AT : frame_begin(header, frame - 1) + SUM_AT))
        return false;
    uint32_t sum[2] = {number(text, true), number(text + 4, true)};
    while (frame <= header->frames && has_frame(log, header, frame, sum))
        frame++;
    return frame > header->frames && memcmp(sum, header->sum, sizeof sum) == 0;
}

/* Retries, because another process may be writing or resetting the log just now. */
bool store_log_is_cut(sqlite3 *db, struct store_log *seen)
{
    enum { TRIES = 3 };
    struct header header;
    sqlite3_file *log = log_of(db);
    if (log == NULL)
        return false;
    for (int i = 0; i < TRIES; i++) {
        if (!read_header(db, &header))
            return false;
        if (has_frames(log, &header, seen)) {
            seen->frames = header.frames;
            memcpy(seen->salt, header.salt, sizeof seen->salt);
            return false;
        }
    }
    return true;
}

/* walformat.html, 2.2: each block begins with the page numbers of its frames; in the first one the
 * header takes some of their room. */
enum { BLOCK_WORDS = 4096, HEADER_WORDS = HEADER_BYTES / 4 };

/* Marks pages from @first on that are only in the log. */
static bool mark_pages(sqlite3_file *file, const struct header *header, uint32_t first,
                       uint32_t count, bool *ret)
{
    void volatile *block = NULL;
    for (uint32_t frame = header->frames_in_database; frame < header->frames; frame++) {
        uint32_t at = frame + HEADER_WORDS, page;
        if ((block == NULL || at % BLOCK_WORDS == 0) &&
            (file->pMethods->xShmMap(file, (int)(at / BLOCK_WORDS), BLOCK_BYTES, 0, &block) !=
                 SQLITE_OK ||
             block == NULL))
            return false;
        page = ((uint32_t volatile *)block)[at % BLOCK_WORDS];
        if (page >= first && page - first < count)
            ret[page - first] = true;
    }
    return !store_log_index_is_lost();
}

int64_t store_log_index_file_pages(sqlite3 *db, int64_t pages)
{
    enum { SPAN = 4096 };
    struct header header;
    sqlite3_file *file = NULL;
    if (!read_header(db, &header) ||
        sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK)
        return 0;
    while (pages > 0) {
        bool is_in_log[SPAN] = {false};
        int64_t first = pages > SPAN ? pages - SPAN + 1 : 1;
        if (!mark_pages(file, &header, (uint32_t)first, SPAN, is_in_log))
            return 0;
        while (pages >= first && is_in_log[pages - first])
            pages--;
        if (pages >= first)
            break;
    }
    return pages;
}

/* True for a page of zeroes, or beyond the end of the file. */
static bool is_blank(sqlite3_file *file, int64_t page, int64_t bytes)
{
    enum { CHUNK = 512 };
    static const char blank[CHUNK];
    char text[CHUNK];
    int rc = SQLITE_OK;
    bool is_so = true;
    for (int64_t at = (page - 1) * bytes; is_so && rc == SQLITE_OK && at < page * bytes;
         at += CHUNK) {
        rc = file->pMethods->xRead(file, text, CHUNK, at);
        is_so =
            rc == SQLITE_IOERR_SHORT_READ || (rc == SQLITE_OK && memcmp(text, blank, CHUNK) == 0);
    }
    return is_so;
}

/* Copies the log and checks the result. Pages are copied in order, and a cut removes the end. So
 * lost pages, copied before the cut or older, include one behind the first page checked. */
bool store_log_copy(sqlite3 *db)
{
    struct header header;
    sqlite3_file *file = NULL;
    int in_log = 0, copied = 0;
    if (!read_header(db, &header) ||
        sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK)
        return true;
    int64_t first = store_log_index_file_pages(db, header.pages);
    int rc = sqlite3_wal_checkpoint_v2(db, "main", SQLITE_CHECKPOINT_PASSIVE, &in_log, &copied);
    if (rc != SQLITE_OK || copied < in_log)
        return true;
    for (int64_t page = first > 0 ? first : 1; page <= header.pages; page++)
        if (is_blank(file, page, page_bytes(&header)))
            return store_log_index_is_lost();
    return true;
}

void store_log_index_renew(const char *path)
{
    static const char zeroes[HEADER_BYTES];
    char name[PATH_MAX];
    struct stat status;
    snprintf(name, sizeof name, "%s-shm", path);
    int fd = open(name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        ssize_t written = pwrite(
            fd, zeroes, status.st_size < HEADER_BYTES ? (size_t)status.st_size : HEADER_BYTES, 0);
        /* existing bytes always have room, except in a hole, which is zero anyway */
        (void)written;
    }
    if (fd >= 0)
        close(fd);
    if (inside != NULL)
        inside->is_lost = 0;
}
