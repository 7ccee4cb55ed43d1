#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/trace/file/byte_source.hpp"

namespace sluice::browser {

/// The file at `url`, read in slices. `name`: see `byte_source::name`. `bytes`: the file's size. `version`: the
/// response's header `Sluice-Version`, if the server reports versions and growth (`sluice serve`,
/// app/cli/serve/site.hpp); empty if the file does not change. Thread-safe; a read blocks until the browser has the
/// bytes.
[[nodiscard]] std::shared_ptr<trace::byte_source> source_at(std::string name, std::string url, std::string version,
                                                            std::uint64_t bytes);

}  // namespace sluice::browser
