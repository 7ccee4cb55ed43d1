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
#include "instrumentation/capture/stacks/python_layout.hpp"
#include "instrumentation/ring/hot.hpp"
#include "instrumentation/ring/producer.hpp"

namespace sluice::capture {

namespace {

/// What a walk has hashed: the key of a stack, and how many frames it has.
struct hashed_stack {
  std::uint64_t key;
  std::size_t count;
};

/// The interpreter of this process. Filled once, before `found`. What each stack needs of it is one cache line.
struct alignas(64) interpreter {
  std::atomic<bool> found{false};
  bool has_key = false;  ///< `key` is that of the thread-specific data in which Python keeps a thread's state.
  pthread_key_t key = 0;
  void* (*specific)(pthread_key_t) = nullptr;   ///< pthread_getspecific
  const void* const* finalizing_at = nullptr;   ///< Not null there: Python shuts down, or has.
  hashed_stack (*hash)(const void*) = nullptr;  ///< Of a thread's frames, by its state.
  const python_layout* layout = nullptr;
  void* (*this_thread)() = nullptr;  ///< PyGILState_GetThisThreadState: reads thread-specific data, nothing else.
  int (*finalizing)() = nullptr;     ///< May be null; asked where `finalizing_at` is.
  std::uint64_t evaluation_begin = 0, evaluation_end = 0;
};
SLUICE_HOT_DATA constinit interpreter python;
constinit std::atomic<bool> search_over{false};

/// The state that Python has for this thread, once it was found to be of this thread.
SLUICE_THREAD_LOCAL const void* known_thread = nullptr;

// ---------------------------------------------------------------------------------------------- finding the interpreter

constexpr std::size_t longest_path = 4096;

/// A libpython that was loaded for one library's use only is not in the global scope.
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

/// 3.8.18 as 0x0308; 0 if it does not say.
unsigned version_of(void* library) {
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

/// Null: a version, or a build of one, whose layout is not known.
const python_layout* layout_of(void* library, unsigned version) {
  const void* runtime = dlsym(library, "_PyRuntime");
  const bool says = (version & 255U) >= 13;  // Where things lie, and how it was built.
  if (says && runtime == nullptr) return nullptr;
  const python_layout* layout = known_layout(version >> 8, version & 255U, says && is_without_gil(runtime));
  if (layout == nullptr) return nullptr;
  // A build that traces references (Py_TRACE_REFS) has a longer head in each object.
  if (dlsym(library, "_Py_PrintReferences") != nullptr) return nullptr;
  return !says || agrees_with_debug_offsets(*layout, runtime) ? layout : nullptr;
}

void find_evaluation(void* library) {
  void* begin = dlsym(library, "_PyEval_EvalFrameDefault");
  Dl_info where{};
  ElfW(Sym)* entry = nullptr;
  if (begin == nullptr || dladdr1(begin, &where, reinterpret_cast<void**>(&entry), RTLD_DL_SYMENT) == 0) return;
  if (entry == nullptr) return;
  python.evaluation_begin = reinterpret_cast<std::uint64_t>(begin);
  python.evaluation_end = python.evaluation_begin + entry->st_size;
}

/// Finds the key by which Python keeps each thread's state, to ask for it without Python's three functions around it: the one
/// under which Python finds what we put there. On the calling thread, for a moment in which no signal handler runs on it.
void find_key() {
  constexpr pthread_key_t most = 32;  // These need no memory.
  static const char mark = 0;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
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

/// Where the runtime notes that it shuts down, so that it need not be asked.
void find_finalizing(void* library) {
  python.finalizing = symbol<int (*)()>(library, python.layout->minor >= 13 ? "Py_IsFinalizing" : "_Py_IsFinalizing");
  const auto* runtime = symbol<const char*>(library, "_PyRuntime");
  const std::size_t offset = runtime == nullptr ? 0 : finalizing_in_runtime(*python.layout, runtime);
  if (offset != 0) python.finalizing_at = reinterpret_cast<const void* const*>(runtime + offset);
}

// ------------------------------------------------------------------------------------------------------------- keys

// Odd numbers without a pattern (of XXH64). Sums of products of them do not cancel as exclusive ors of addresses do.
constexpr std::uint64_t odd1 = 0x9E3779B185EBCA87U, odd2 = 0xC2B2AE3D27D4EB4FU, odd3 = 0x165667B19E3779F9U;

/// Some of the bytes of a line table: all of them up to 32, else four words of eight.
std::uint64_t sample_of(const python_layout& layout, const void* table) {
  const std::size_t bytes_data = layout.bytes_data();
  const auto bytes = read_at<std::uint64_t>(table, layout.length());
  const auto first =
      read_at<std::uint64_t>(table, bytes_data);  // An object's memory comes in units of at least 8 bytes.
  if (bytes < 8) return (first & ~(~std::uint64_t{0} << bytes * 8)) * odd1 + bytes;
  const std::uint64_t last = bytes - 8;
  std::uint64_t sum = bytes * odd1 + first;
  sum += read_at<std::uint64_t>(table, bytes_data + last / 3) * odd2;
  sum += read_at<std::uint64_t>(table, bytes_data + last * 2 / 3) * odd3;
  return sum ^ read_at<std::uint64_t>(table, bytes_data + last) * odd1;
}

/// What tells a code object from another that gets its memory after it. From 3.12 on a number does. Before, what it
/// refers to and some of its content: texts may be reused at their addresses as well.
std::uint64_t identity_of(const python_layout& layout, const void* code) {
  const std::uint64_t first_line = read_at<std::uint32_t>(code, layout.code.first_line);
  if (layout.code.version != 0) {
    const std::uint64_t version = read_at<std::uint32_t>(code, layout.code.version);
    if (version != 0) return version << 32 | first_line;
  }
  const void* file = read_at<const void*>(code, layout.code.file);
  const void* lines = read_at<const void*>(code, layout.code.line_table);
  // The last bytes of an ASCII text; of a very short one, the head before it comes along.
  const auto file_length = read_at<std::uint64_t>(file, layout.length());
  const auto file_end = read_at<std::uint64_t>(file, layout.ascii_data + file_length - 8);
  std::uint64_t sum = first_line + read_at<std::uint64_t>(code, layout.code.name) * odd1;
  sum += reinterpret_cast<std::uint64_t>(file) * odd2 + reinterpret_cast<std::uint64_t>(lines) * odd3;
  return sum + (file_end ^ file_length << 48) * odd2 + sample_of(layout, lines);
}

std::uint64_t key_of(std::uint64_t place, std::uint64_t identity) {
  const std::uint64_t key = place * odd1 + identity * odd2;
  return (key ^ key >> 32) | collector::frame_key_bit;
}

std::uint64_t key_of(const python_layout& layout, const void* code, python_position position) {
  const std::uint64_t place = layout.family == python_family::frame_objects
                                  ? reinterpret_cast<std::uint64_t>(code) + (position << 48)
                                  : position;
  return key_of(place, identity_of(layout, code));
}

/// The key of a stack, frame by frame from the innermost on.
class stack_hash {
 public:
  void add(std::uint64_t frame) {
    hash_ = (hash_ ^ frame) * odd1;
    hash_ ^= hash_ >> 32;
    ++count_;
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] hashed_stack done() const { return {(hash_ + count_ * odd2) | 1, count_}; }

 private:
  std::uint64_t hash_ = odd3;
  std::size_t count_ = 0;
};

SLUICE_RARE void introduce(const python_layout& layout, const void* code, python_position position, std::uint64_t key) {
  char buffer[2048];
  collector::frame_record frame{};
  frame.header.time = collector::now();
  frame.key = key;
  text_view text = utf8_of(layout, read_at<const void*>(code, layout.code.name), buffer, sizeof buffer);
  frame.function = collector::intern(text.text, text.length);
  text = utf8_of(layout, read_at<const void*>(code, layout.code.file), buffer, sizeof buffer);
  frame.file = collector::intern(text.text, text.length);
  frame.line = line_of(layout, code, position);
  frame.kind = static_cast<std::uint32_t>(trace::frame_kind::python);
  collector::introduce_frame(frame);
}

// ------------------------------------------------------------------------------------------------------------- walking

/// What a walk has found.
struct walk {
  std::uint64_t* out;
  std::size_t max;
  std::uint64_t* entries;
  bool sends;
  std::size_t count = 0;

  void add(const python_layout& layout, const void* code, python_position position) {
    const std::uint64_t key = key_of(layout, code, position);
    if (sends && !collector::knows_frame(key)) introduce(layout, code, position, key);
    out[count++] = key;
  }
  /// The last frame that was added begins an evaluation.
  void mark() {
    if (entries != nullptr && count != 0) entries[(count - 1) / 64] |= std::uint64_t{1} << (count - 1) % 64;
  }
};

/// To 3.10.
void walk_frame_objects(const python_layout& layout, const char* frame, walk& w) {
  for (; frame != nullptr && w.count < w.max; frame = read_at<const char*>(frame, layout.frame.previous)) {
    const void* code = read_at<const void*>(frame, layout.frame.code);
    w.add(layout, code, read_at<std::uint32_t>(frame, layout.frame.instruction));
    w.mark();
  }
}

// What owns a frame (enum _frameowner).
constexpr std::uint8_t owned_by_generator = 1, owned_by_c = 3;

/// Since 3.14 the lowest bits of the reference say how it is counted.
SLUICE_INLINE const char* code_of(const python_layout& layout, const char* frame) {
  constexpr std::uint64_t tags = 7;
  return reinterpret_cast<const char*>(read_at<std::uint64_t>(frame, layout.frame.code) & ~tags);
}

/// The frame of a call whose code has begun to run. A thread's copy of the code, whose begin is not to be read at every turn, is taken
/// to have: what Python puts between frames of its own, which never begins, has no copies.
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

/// Since 3.11. Leaves out what Python leaves out of tracebacks: frames that C owns, and those that have not begun.
void walk_interpreter_frames(const python_layout& layout, const char* frame, walk& w) {
  // Frames that are left out are one an evaluation, or one a frame at most: this many cannot be.
  std::size_t steps = 4 * w.max;
  for (; frame != nullptr && w.count < w.max && steps != 0; --steps) {
    const auto owner = read_at<std::uint8_t>(frame, layout.frame.owner);
    if (owner >= owned_by_c) {
      w.mark();
    } else {
      const char* code = code_of(layout, frame);
      const auto position = read_at<std::uint64_t>(frame, layout.frame.instruction);
      if (has_begun(layout, owner, code, position)) w.add(layout, code, position);
      const bool entry = layout.family == python_family::cframes && read_at<char>(frame, layout.frame.is_entry) != 0;
      if (entry) w.mark();
    }
    frame = read_at<const char*>(frame, layout.frame.previous);
  }
}

/// Asks Python, and looks whether that state is this thread's.
SLUICE_RARE const void* find_thread() {
  known_thread = nullptr;
  const void* thread = python.this_thread();
  const bool its_own =
      thread != nullptr && read_at<pthread_t>(thread, python.layout->thread.thread_id) == pthread_self();
  if (!its_own) return nullptr;
  known_thread = thread;
  return thread;
}

/// The calling thread's state, or null.
SLUICE_INLINE const void* this_thread() {
  if (!python.found.load(std::memory_order_acquire)) return nullptr;
  // While Python shuts down it frees the states of threads that still run.
  if (python.finalizing_at != nullptr) {
    if (__atomic_load_n(python.finalizing_at, __ATOMIC_RELAXED) != nullptr) return nullptr;
  } else if (python.finalizing != nullptr && python.finalizing() != 0) {
    return nullptr;
  }
  if (!python.has_key) return find_thread();
  // A Python that is started again may have another key: nothing is read of what was not found to be a thread's state.
  const void* thread = python.specific(python.key);
  if (thread == nullptr || thread == known_thread) [[likely]]
    return thread;
  return find_thread();
}

/// Null: it runs no Python.
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

constexpr std::size_t most_frames = collector::maximum_frames;

hashed_stack hash_of(const std::uint64_t* frames, std::size_t count) {
  stack_hash hash;
  for (std::size_t i = 0; i < count; ++i) hash.add(frames[i]);
  return hash.done();
}

/// By what the layout says.
hashed_stack hash_thread(const void* thread) {
  std::uint64_t frames[most_frames];
  return hash_of(frames, walk_thread(thread, {frames, most_frames, nullptr, false}));
}

/// The same for one version whose code objects have numbers: a loop in a few lines of code, with no table beside it.
template <std::size_t Which>
SLUICE_HOT hashed_stack hash_frames(const void* thread) {
  constexpr python_layout layout = python_layouts[Which];
  static_assert(layout.family >= python_family::cframe_shims && layout.code.version != 0);
  const auto* frame = read_at<const char*>(thread, layout.thread.frame);
  if (layout.family == python_family::cframe_shims && frame != nullptr) {
    frame = read_at<const char*>(frame, layout.thread.frame_of_cframe);
  }
  stack_hash hash;
  for (std::size_t steps = 4 * most_frames; frame != nullptr && hash.count() < most_frames && steps != 0; --steps) {
    const auto owner = read_at<std::uint8_t>(frame, layout.frame.owner);
    const char* code = code_of(layout, frame);
    const auto position = read_at<std::uint64_t>(frame, layout.frame.instruction);
    frame = read_at<const char*>(frame, layout.frame.previous);
    if (owner >= owned_by_c || !has_begun(layout, owner, code, position)) continue;
    const auto version = read_at<std::uint32_t>(code, layout.code.version);
    if (version == 0) [[unlikely]]
      return hash_thread(thread);
    hash.add(key_of(position, std::uint64_t{version} << 32 | read_at<std::uint32_t>(code, layout.code.first_line)));
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

/// Sends a stack that the writer does not know.
SLUICE_RARE std::uint64_t introduce_stack(const void* thread) {
  std::uint64_t frames[most_frames];
  const std::size_t count = walk_thread(thread, {frames, most_frames, nullptr, true});
  return collector::introduce_stack(hash_of(frames, count).key, frames, count);
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
  // Two threads at once would both do the rest.
  static constinit std::atomic<bool> claimed{false};
  if (claimed.exchange(true)) return;
  const unsigned version = version_of(library);
  python.layout = layout_of(library, version);
  python.this_thread = symbol<void* (*)()>(library, "PyGILState_GetThisThreadState");
  if (python.layout != nullptr && python.this_thread != nullptr) {
    find_finalizing(library);
    find_key();
    find_evaluation(library);
    python.hash = hash_for(*python.layout);
    python.found.store(true, std::memory_order_release);
  } else {
    char text[160];
    snprintf(text, sizeof text,
             "this build of Python %u.%u is not known (3.8 to 3.14 are): stacks have no Python frames", version >> 8,
             version & 255U);
    collector::message(static_cast<unsigned>(trace::severity::warning), text);
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
  // A stack that is known as a whole has no frame that is not.
  return collector::knows_frame(stack.key) ? stack.key : introduce_stack(thread);
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
  const std::uint64_t place = reinterpret_cast<std::uint64_t>(frame) * odd1 + position * odd2 +
                              read_at<std::uint64_t>(frame, layout.frame.code) * odd3;
  return place | 1U;
}

bool in_python_evaluation(std::uint64_t pc) noexcept {
  return python.found.load(std::memory_order_relaxed) && pc > python.evaluation_begin && pc <= python.evaluation_end;
}

}  // namespace sluice::capture
