#include "instrumentation/capture/python_stack.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <atomic>

#include "core/trace/kinds.hpp"
#include "instrumentation/capture/python_code.hpp"
#include "instrumentation/capture/python_layout.hpp"
#include "instrumentation/collector/producer.hpp"

namespace sluice::capture {

namespace {

/// The interpreter of this process. Filled once, before `python_found`.
struct interpreter {
  const python_layout* layout;
  void* (*this_thread)();  ///< PyGILState_GetThisThreadState: reads thread-specific data, nothing else.
  int (*finalizing)();     ///< May be null.
  std::uint64_t evaluation_begin, evaluation_end;
};
interpreter python;
constinit std::atomic<bool> python_found{false};
constinit std::atomic<bool> search_over{false};

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
  const python_layout* layout = known_layout(version >> 8, version & 255U);
  if (layout == nullptr) return nullptr;
  // A build that traces references (Py_TRACE_REFS) has a longer head in each object.
  if (dlsym(library, "_Py_PrintReferences") != nullptr) return nullptr;
  if (layout->minor < 13) return layout;
  const void* runtime = dlsym(library, "_PyRuntime");
  return runtime != nullptr && agrees_with_debug_offsets(*layout, runtime) ? layout : nullptr;
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

// ------------------------------------------------------------------------------------------------------------- keys

// Odd numbers without a pattern (of XXH64). Sums of products of them do not cancel as exclusive ors of addresses do.
constexpr std::uint64_t odd1 = 0x9E3779B185EBCA87U, odd2 = 0xC2B2AE3D27D4EB4FU, odd3 = 0x165667B19E3779F9U;

/// Some of the bytes of a line table: all of them up to 32, else four words of eight.
std::uint64_t sample_of(const void* table) {
  const auto bytes = read_at<std::uint64_t>(table, bytes_length);
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
  const auto file_length = read_at<std::uint64_t>(file, unicode_length);
  const auto file_end = read_at<std::uint64_t>(file, layout.ascii_data + file_length - 8);
  std::uint64_t sum = first_line + read_at<std::uint64_t>(code, layout.code.name) * odd1;
  sum += reinterpret_cast<std::uint64_t>(file) * odd2 + reinterpret_cast<std::uint64_t>(lines) * odd3;
  return sum + (file_end ^ file_length << 48) * odd2 + sample_of(lines);
}

std::uint64_t key_of(const python_layout& layout, const void* code, python_position position) {
  const std::uint64_t place = layout.family == python_family::frame_objects
                                  ? reinterpret_cast<std::uint64_t>(code) + (position << 48)
                                  : position;
  const std::uint64_t key = place * odd1 + identity_of(layout, code) * odd2;
  return (key ^ key >> 32) | collector::frame_key_bit;
}

[[gnu::noinline]] void introduce(const python_layout& layout, const void* code, python_position position,
                                 std::uint64_t key) {
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

/// Since 3.11. Leaves out what Python leaves out of tracebacks: frames that C owns, and those that have not begun.
void walk_interpreter_frames(const python_layout& layout, const char* frame, walk& w) {
  // Frames that are left out are one an evaluation, or one a frame at most: this many cannot be.
  std::size_t steps = 4 * w.max;
  for (; frame != nullptr && w.count < w.max && steps != 0; --steps) {
    const auto owner = read_at<std::uint8_t>(frame, layout.frame.owner);
    if (owner >= owned_by_c) {
      w.mark();
    } else {
      const char* code = read_at<const char*>(frame, layout.frame.code);
      const auto position = read_at<std::uint64_t>(frame, layout.frame.instruction);
      const auto begun = reinterpret_cast<std::uint64_t>(code) + layout.code.instructions +
                         2 * std::uint64_t{read_at<std::uint32_t>(code, layout.code.first_traceable)};
      if (owner == owned_by_generator || position >= begun) w.add(layout, code, position);
      const bool entry = layout.family == python_family::cframes && read_at<char>(frame, layout.frame.is_entry) != 0;
      if (entry) w.mark();
    }
    frame = read_at<const char*>(frame, layout.frame.previous);
  }
}

/// The calling thread's state, or null.
const void* this_thread() {
  if (!python_found.load(std::memory_order_acquire)) return nullptr;
  // While Python shuts down it frees the states of threads that still run.
  if (python.finalizing != nullptr && python.finalizing() != 0) return nullptr;
  const void* thread = python.this_thread();
  const bool its_own =
      thread != nullptr && read_at<pthread_t>(thread, python.layout->thread.thread_id) == pthread_self();
  return its_own ? thread : nullptr;
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
    const char* name = python.layout->minor >= 13 ? "Py_IsFinalizing" : "_Py_IsFinalizing";
    python.finalizing = symbol<int (*)()>(library, name);
    find_evaluation(library);
    python_found.store(true, std::memory_order_release);
  } else {
    char text[160];
    snprintf(
        text, sizeof text,
        "this build of Python %u.%u is not known (3.8 to 3.13 are, those with a GIL): stacks have no Python frames",
        version >> 8, version & 255U);
    collector::message(static_cast<unsigned>(trace::severity::warning), text);
  }
  search_over.store(true, std::memory_order_release);
}

std::size_t python_frames(std::uint64_t* out, std::size_t max, std::uint64_t* entries) noexcept {
  const void* thread = this_thread();
  return thread == nullptr ? 0 : walk_thread(thread, {out, max, entries, true});
}

std::uint64_t python_stack_key() noexcept {
  constexpr std::size_t most = collector::maximum_frames;
  const void* thread = this_thread();
  if (thread == nullptr) return 0;
  std::uint64_t frames[most];
  // A stack that is known as a whole has no frame that is not.
  const std::size_t count = walk_thread(thread, {frames, most, nullptr, false});
  const std::uint64_t known = collector::known_stack(frames, count);
  if (known != 0) return known;
  return collector::intern_stack(frames, walk_thread(thread, {frames, most, nullptr, true}));
}

std::uint64_t python_place() noexcept {
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
  return python_found.load(std::memory_order_relaxed) && pc > python.evaluation_begin && pc <= python.evaluation_end;
}

}  // namespace sluice::capture
