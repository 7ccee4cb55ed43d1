#include "instrumentation/capture/stacks/python_stack.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <atomic>

#include "core/trace/model/kinds.hpp"
#include "instrumentation/capture/stacks/python_code.hpp"
#include "instrumentation/capture/stacks/python_keys.hpp"
#include "instrumentation/capture/stacks/python_layout.hpp"
#include "instrumentation/ring/hot.hpp"
#include "instrumentation/ring/producer.hpp"
#include "instrumentation/unwind/merge_frames.hpp"

namespace sluice::capture {

namespace {

/// The interpreter of this process. It is filled once, before `found` is set. Taking a stack reads only one cache line
/// of this object.
struct alignas(64) interpreter {
  std::atomic<bool> found{false};
  bool has_key = false;  ///< True if `key` is known: the key of thread-specific data for Python's thread state.
  pthread_key_t key = 0;
  void* (*specific)(pthread_key_t) = nullptr;   ///< pthread_getspecific
  const void* const* finalizing_at = nullptr;   ///< If the pointer at this place is not null, Python is shutting down.
  hashed_stack (*hash)(const void*) = nullptr;  ///< Hashes a thread's frames, given its state.
  const python_layout* layout = nullptr;
  void* (*this_thread)() = nullptr;  ///< PyGILState_GetThisThreadState: only reads thread-specific data.
  int (*finalizing)() = nullptr;     ///< Used if `finalizing_at` is null. May be null.
  std::uint64_t evaluation_begin = 0, evaluation_end = 0;
  std::uint64_t code_begin = 0, code_end = 0;  ///< The segment that contains the evaluation loop.
  python_symbols symbols;
};
SLUICE_HOT_DATA constinit interpreter python;
constinit std::atomic<bool> search_over{false};

/// Python's state of this thread; set after a check that the state belongs to this thread.
SLUICE_THREAD_LOCAL const void* known_thread = nullptr;

// --------------------------------------------------------------------------------------------- finding the interpreter

constexpr std::size_t longest_path = 4096;

/// Finds a libpython that was loaded with local scope, and so is not in the global scope.
int find_libpython(dl_phdr_info* info, std::size_t, void* found) {
  const char* name = info->dlpi_name == nullptr ? nullptr : strrchr(info->dlpi_name, '/');
  if (name == nullptr || strncmp(name, "/libpython3", 11) != 0) return 0;
  snprintf(static_cast<char*>(found), longest_path, "%s", info->dlpi_name);
  return 1;
}

template <class T>
T symbol(void* library, const char* name) {
  return reinterpret_cast<T>(dlsym(library, name));
}

/// The version of Python, e.g. 0x0308 for 3.8.18; 0 if unknown.
unsigned get_version(void* library) {
  if (const auto* number = symbol<const unsigned long*>(library, "Py_Version")) {
    return static_cast<unsigned>(*number >> 16);
  }
  const auto text = symbol<const char* (*)()>(library, "Py_GetVersion");
  if (text == nullptr) return 0;
  char* end = nullptr;
  const unsigned long major = strtoul(text(), &end, 10);
  const unsigned long minor = *end == '.' ? strtoul(end + 1, nullptr, 10) : 0;
  return static_cast<unsigned>(major << 8 | minor);
}

/// The layout of this version and build; null if it is unknown.
const python_layout* get_layout(void* library, unsigned version) {
  const void* runtime = dlsym(library, "_PyRuntime");
  const bool says = (version & 255U) >= 13;  // Such a version publishes its offsets and its build type.
  if (says && runtime == nullptr) return nullptr;
  const python_layout* layout = known_layout(version >> 8, version & 255U, says && is_without_gil(runtime));
  if (layout == nullptr) return nullptr;
  // A build that traces references (Py_TRACE_REFS) has larger object headers.
  if (dlsym(library, "_Py_PrintReferences") != nullptr) return nullptr;
  return !says || agrees_with_debug_offsets(*layout, runtime) ? layout : nullptr;
}

int find_code(dl_phdr_info* info, std::size_t, void*) {
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    const std::uint64_t begin = info->dlpi_addr + part.p_vaddr;
    if (part.p_type != PT_LOAD || python.evaluation_begin < begin || python.evaluation_begin >= begin + part.p_memsz) {
      continue;
    }
    python.code_begin = begin;
    python.code_end = begin + part.p_memsz;
    return 1;
  }
  return 0;
}

void find_evaluation(void* library) {
  void* begin = dlsym(library, unwind::python_evaluation);
  Dl_info where{};
  ElfW(Sym)* entry = nullptr;
  if (begin == nullptr || dladdr1(begin, &where, reinterpret_cast<void**>(&entry), RTLD_DL_SYMENT) == 0) return;
  if (entry == nullptr) return;
  python.evaluation_begin = reinterpret_cast<std::uint64_t>(begin);
  python.evaluation_end = python.evaluation_begin + entry->st_size;
  dl_iterate_phdr(find_code, nullptr);
}

/// Finds the key of the thread-specific data that contains Python's thread state, so that the state can be read
/// directly. For that, sets a value for each key until Python's own function returns this value. Runs on the calling
/// thread with its signals blocked.
void find_key() {
  constexpr pthread_key_t most = 32;  // The first 32 need no memory.
  static const char mark = 0;
  sigset_t whole, before;
  sigfillset(&whole);
  pthread_sigmask(SIG_SETMASK, &whole, &before);
  for (pthread_key_t key = 0; key < most && !python.has_key; ++key) {
    const void* const kept = pthread_getspecific(key);
    if (pthread_setspecific(key, &mark) != 0) continue;  // No such key.
    python.has_key = python.this_thread() == &mark;
    pthread_setspecific(key, kept);
    python.key = key;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  python.specific = pthread_getspecific;
}

/// Finds the pointer that the runtime sets on shutdown, so that no function call is needed to check it.
void find_finalizing(void* library) {
  python.finalizing = symbol<int (*)()>(library, python.layout->minor >= 13 ? "Py_IsFinalizing" : "_Py_IsFinalizing");
  const auto* runtime = symbol<const char*>(library, "_PyRuntime");
  const std::size_t offset = runtime == nullptr ? 0 : finalizing_in_runtime(*python.layout, runtime);
  if (offset != 0) python.finalizing_at = reinterpret_cast<const void* const*>(runtime + offset);
}

// ---------------------------------------------------------------------------------------------------------- introducing

SLUICE_RARE void introduce(const python_layout& layout, const void* code, python_position position, std::uint64_t key) {
  char buffer[2048];
  ring::frame_record frame{};
  frame.header.time = ring::now();
  frame.key = key;
  text_view text = read_utf8(layout, read_at<const void*>(code, layout.code.name), buffer, sizeof buffer);
  frame.function = ring::intern(text.text, text.length);
  text = read_utf8(layout, read_at<const void*>(code, layout.code.file), buffer, sizeof buffer);
  frame.file = ring::intern(text.text, text.length);
  frame.line = get_line(layout, code, position);
  frame.kind = static_cast<std::uint32_t>(trace::frame_kind::python);
  ring::introduce_frame(frame);
}

// ------------------------------------------------------------------------------------------------------------- walking

/// The output of a walk.
struct walk {
  std::uint64_t* out;
  std::size_t max;
  std::uint64_t* entries;
  bool sends;
  std::size_t count = 0;

  void add(const python_layout& layout, const void* code, python_position position) {
    const std::uint64_t key = get_key(layout, code, position);
    if (sends && !ring::knows_frame(key)) introduce(layout, code, position, key);
    out[count++] = key;
  }
  /// Marks the last added frame as the start of an evaluation.
  void mark() {
    if (entries != nullptr && count != 0) entries[(count - 1) / 64] |= std::uint64_t{1} << (count - 1) % 64;
  }
};

/// Walks the frames of Python up to 3.10.
void walk_frame_objects(const python_layout& layout, const char* frame, walk& w) {
  for (; frame != nullptr && w.count < w.max; frame = read_at<const char*>(frame, layout.frame.previous)) {
    const void* code = read_at<const void*>(frame, layout.frame.code);
    w.add(layout, code, read_at<std::uint32_t>(frame, layout.frame.instruction));
    w.mark();
  }
}

/// The code object of a frame.
SLUICE_INLINE const char* get_code(const python_layout& layout, const char* frame) {
  return reinterpret_cast<const char*>(read_at<std::uint64_t>(frame, layout.frame.code) & ~code_tags);
}

/// True if the call's code has begun to run. A thread's own copy of code is assumed to have begun, because reading its
/// start each time is too slow. Python's internal frames between other frames never begin, and have no copies.
SLUICE_INLINE bool has_begun(const python_layout& layout, std::uint8_t owner, const char* code,
                             std::uint64_t position) {
  if (layout.copies != 0) {
    const std::uint64_t own = reinterpret_cast<std::uint64_t>(code) + layout.code.instructions;
    return owner == owned_by_generator ||
           position - own >= 2 * std::uint64_t{read_at<std::uint32_t>(code, layout.code.first_traceable)};
  }
  const auto first = reinterpret_cast<std::uint64_t>(code) + layout.code.instructions +
                     2 * std::uint64_t{read_at<std::uint32_t>(code, layout.code.first_traceable)};
  return owner == owned_by_generator || position >= first;
}

/// Walks the frames of Python from 3.11 on. Like tracebacks, skips frames owned by C and frames that have not begun.
void walk_interpreter_frames(const python_layout& layout, const char* frame, walk& w) {
  // At most one frame is skipped per evaluation or per frame, so a walk never needs this many steps.
  std::size_t steps = 4 * w.max;
  for (; frame != nullptr && w.count < w.max && steps != 0; --steps) {
    const auto owner = read_at<std::uint8_t>(frame, layout.frame.owner);
    if (owner >= owned_by_c) {
      w.mark();
    } else {
      const char* code = get_code(layout, frame);
      const auto position = read_at<std::uint64_t>(frame, layout.frame.instruction);
      if (has_begun(layout, owner, code, position)) w.add(layout, code, position);
      const bool entry = layout.family == python_family::cframes && read_at<char>(frame, layout.frame.is_entry) != 0;
      if (entry) w.mark();
    }
    frame = read_at<const char*>(frame, layout.frame.previous);
  }
}

/// Asks Python for the state, and checks that it belongs to this thread.
SLUICE_RARE const void* find_thread() {
  known_thread = nullptr;
  const void* thread = python.this_thread();
  const bool its_own =
      thread != nullptr && read_at<pthread_t>(thread, python.layout->thread.thread_id) == pthread_self();
  if (!its_own) return nullptr;
  known_thread = thread;
  return thread;
}

/// True while Python shuts down.
SLUICE_INLINE bool ends() {
  if (python.finalizing_at != nullptr) return __atomic_load_n(python.finalizing_at, __ATOMIC_RELAXED) != nullptr;
  return python.finalizing != nullptr && python.finalizing() != 0;
}

/// The calling thread's state, or null.
SLUICE_INLINE const void* this_thread() {
  if (!python.found.load(std::memory_order_acquire)) return nullptr;
  // While Python shuts down, it frees the states of threads that are still running.
  if (ends()) return nullptr;
  if (!python.has_key) return find_thread();
  // A restarted Python may use another key. So a value is used only after a check that it is a thread's state.
  const void* thread = python.specific(python.key);
  if (thread == nullptr || thread == known_thread) [[likely]]
    return thread;
  return find_thread();
}

/// Null if the thread runs no Python code.
const char* innermost_frame(const void* thread) {
  const python_layout& layout = *python.layout;
  const char* frame = read_at<const char*>(thread, layout.thread.frame);
  const bool direct = layout.family == python_family::frame_objects || layout.family == python_family::shims;
  return direct || frame == nullptr ? frame : read_at<const char*>(frame, layout.thread.frame_of_cframe);
}

std::size_t walk_thread(const void* thread, walk w) {
  const python_layout& layout = *python.layout;
  const char* frame = innermost_frame(thread);
  if (layout.family == python_family::frame_objects) {
    walk_frame_objects(layout, frame, w);
  } else {
    walk_interpreter_frames(layout, frame, w);
  }
  return w.count;
}

constexpr std::size_t max_frames = ring::maximum_frames;

/// The generic version, which looks up each offset in the layout.
hashed_stack hash_thread(const void* thread) {
  std::uint64_t frames[max_frames];
  return compute_hash(frames, walk_thread(thread, {frames, max_frames, nullptr, false}));
}

/// The version for one layout with code version numbers. It is a short loop without table lookups.
template <std::size_t Which>
SLUICE_HOT hashed_stack hash_frames(const void* thread) {
  constexpr python_layout layout = python_layouts[Which];
  static_assert(layout.family >= python_family::cframe_shims && layout.code.version != 0);
  const auto* frame = read_at<const char*>(thread, layout.thread.frame);
  if (layout.family == python_family::cframe_shims && frame != nullptr) {
    frame = read_at<const char*>(frame, layout.thread.frame_of_cframe);
  }
  stack_hash hash;
  for (std::size_t steps = 4 * max_frames; frame != nullptr && hash.count() < max_frames && steps != 0; --steps) {
    const auto owner = read_at<std::uint8_t>(frame, layout.frame.owner);
    const char* code = get_code(layout, frame);
    const auto position = read_at<std::uint64_t>(frame, layout.frame.instruction);
    frame = read_at<const char*>(frame, layout.frame.previous);
    if (owner >= owned_by_c || !has_begun(layout, owner, code, position)) continue;
    const auto version = read_at<std::uint32_t>(code, layout.code.version);
    if (version == 0) [[unlikely]]
      return hash_thread(thread);
    hash.add(get_key(position, std::uint64_t{version} << 32 | read_at<std::uint32_t>(code, layout.code.first_line)));
  }
  return hash.done();
}

hashed_stack (*hash_for(const python_layout& layout))(const void*) {
  if (&layout == &python_layouts[4]) return hash_frames<4>;
  if (&layout == &python_layouts[5]) return hash_frames<5>;
  if (&layout == &python_layouts[6]) return hash_frames<6>;
  if (&layout == &python_layouts[7]) return hash_frames<7>;
  if (&layout == &python_layouts[8]) return hash_frames<8>;
  return hash_thread;
}
static_assert(python_layouts[4].minor == 12 && sizeof python_layouts / sizeof python_layouts[0] == 9);

/// Sends a stack that the writer does not have yet.
SLUICE_RARE std::uint64_t introduce_stack(const void* thread) {
  std::uint64_t frames[max_frames];
  const std::size_t count = walk_thread(thread, {frames, max_frames, nullptr, true});
  return ring::introduce_stack(compute_hash(frames, count).key, frames, count);
}

}  // namespace

void find_python() noexcept {
  if (search_over.load(std::memory_order_acquire)) return;
  void* library = RTLD_DEFAULT;
  if (dlsym(library, "PyGILState_GetThisThreadState") == nullptr) {
    char path[longest_path] = {};
    dl_iterate_phdr(find_libpython, path);
    library = path[0] == '\0' ? nullptr : dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) return;  // It may be loaded later.
  }
  // Only one thread may do the rest.
  static constinit std::atomic<bool> claimed{false};
  if (claimed.exchange(true)) return;
  const unsigned version = get_version(library);
  python.layout = get_layout(library, version);
  python.this_thread = symbol<void* (*)()>(library, "PyGILState_GetThisThreadState");
  if (python.layout != nullptr && python.this_thread != nullptr) {
    find_finalizing(library);
    find_key();
    find_evaluation(library);
    python.hash = hash_for(*python.layout);
    python.symbols = {python.layout, dlsym(library, "_PyRuntime"), dlsym(library, "PyCode_Type"),
                      dlsym(library, "PyUnicode_Type"), dlsym(library, "PyBytes_Type")};
    python.found.store(true, std::memory_order_release);
  } else {
    char text[160];
    snprintf(text, sizeof text,
             "this build of Python %u.%u is not supported (3.8 to 3.14 are): stacks have no Python frames",
             version >> 8, version & 255U);
    ring::message(static_cast<unsigned>(trace::severity::warning), text);
  }
  search_over.store(true, std::memory_order_release);
}

std::size_t python_frames(std::uint64_t* out, std::size_t max, std::uint64_t* entries) noexcept {
  const void* thread = this_thread();
  return thread == nullptr ? 0 : walk_thread(thread, {out, max, entries, true});
}

SLUICE_HOT std::uint64_t python_stack_key() noexcept {
  const void* thread = this_thread();
  if (thread == nullptr) return 0;
  const hashed_stack stack = python.hash(thread);
  if (stack.count == 0) return 0;
  // If the whole stack is known, each of its frames is known.
  return ring::knows_frame(stack.key) ? stack.key : introduce_stack(thread);
}

SLUICE_HOT std::uint64_t python_place() noexcept {
  const void* thread = this_thread();
  if (thread == nullptr) return 0;
  const python_layout& layout = *python.layout;
  const char* frame = innermost_frame(thread);
  if (frame == nullptr) return 0;
  const bool relative = layout.family == python_family::frame_objects;
  const std::uint64_t position = relative ? read_at<std::uint32_t>(frame, layout.frame.instruction)
                                          : read_at<std::uint64_t>(frame, layout.frame.instruction);
  const std::uint64_t place = reinterpret_cast<std::uint64_t>(frame) * key_odd1 + position * key_odd2 +
                              read_at<std::uint64_t>(frame, layout.frame.code) * key_odd3;
  return place | 1U;
}

const python_symbols* find_python_symbols() noexcept {
  return python.found.load(std::memory_order_acquire) ? &python.symbols : nullptr;
}

bool is_python_ending() noexcept { return !python.found.load(std::memory_order_acquire) || ends(); }

bool in_python_evaluation(std::uint64_t pc) noexcept {
  return python.found.load(std::memory_order_relaxed) && pc > python.evaluation_begin && pc <= python.evaluation_end;
}

bool is_in_python(std::uint64_t pc) noexcept {
  return python.found.load(std::memory_order_acquire) && pc >= python.code_begin && pc < python.code_end;
}

}  // namespace sluice::capture
