// Imports the file formats of PyTorch's memory snapshots. Each format is converted to a pickle while it is read, so
// that one reader suffices.
#include <string>
#include <utility>

#include "core/import/importers.hpp"
#include "core/import/torch/json_pickle.hpp"
#include "core/import/torch/snapshot.hpp"
#include "core/import/torch/sqlite_pickle.hpp"

namespace sluice::importing {
namespace torch {
namespace {

/// Returns the bytes of the file. If they are inflated, their number is limited to the allowed memory.
byte_source get_bytes(job& work) {
  return [&work, read = std::uint64_t{0}](std::span<std::byte> into) mutable -> result<std::size_t> {
    if (auto ready = work.advance(0.4 * work.source().share_read()); !ready) return tl::unexpected(ready.error());
    auto got = work.source().read(into);
    if (got) read += *got;
    // A few bytes of gzip may expand to any number of bytes.
    if (work.source().compressed() && read > work.memory_bytes()) {
      return fail(error_code::corrupt, "exceeds the limit of " + std::to_string(work.memory_bytes()) + " bytes",
                  work.source().path(), "if it really is that large, raise the memory limit", work.memory_bytes());
    }
    return got;
  };
}

/// Imports the content of a pickle. Its values must all be held, because any of them may be used again, but its bytes
/// need not. `form`: the name of the format, for errors.
result<void> import_from(job& work, const pickle_source& source, const char* form) {
  const auto document = read_pickle(source, work.memory_bytes());
  if (!document) {
    if (const error* damage = work.source().damage()) return tl::unexpected(*damage);
    error why = document.error();
    if (why.file.empty()) {  // The error is in the pickle, not in its source.
      why.file = work.source().path();
      why.hint = std::string("expected ") + form;
    }
    return tl::unexpected(std::move(why));
  }
  if (document->trailing_bytes() > 0) work.not_understood("bytes after the pickle", document->trailing_bytes());
  if (auto ready = work.advance(0.4); !ready) return ready;
  auto snapshot = read_snapshot(*document, work);
  if (!snapshot) return tl::unexpected(snapshot.error());
  drop_impossible_times(*snapshot, work);
  return write_trace(*document, *snapshot, work);
}

}  // namespace

}  // namespace torch

result<void> import_torch_snapshot(job& work) {
  return torch::import_from(work, torch::get_bytes(work), "the output of torch.cuda.memory._dump_snapshot");
}

result<void> import_torch_snapshot_json(job& work) {
  torch::json_as_pickle content(torch::get_bytes(work));
  return torch::import_from(
      work, [&](std::span<std::byte> into) { return content.read(into); },
      "the snapshot of torch.cuda.memory._snapshot() as JSON");
}

result<void> import_torch_snapshot_sqlite(job& work) {
  const auto origin = nsys_database::open(work.source().path());
  if (!origin) return tl::unexpected<error>(origin.error());
  torch::sqlite_as_pickle content(*origin, work);
  if (auto begun = content.begin(); !begun) return begun;
  const auto source = [&](std::span<std::byte> into) -> result<std::size_t> {
    if (auto ready = work.advance(0.2); !ready) return tl::unexpected(ready.error());
    return content.read(into);
  };
  return torch::import_from(work, source, "a snapshot in the tables segments, blocks and device_traces");
}

}  // namespace sluice::importing
