#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/trace/file/byte_source.hpp"

namespace sluice::browser {

/// The file at `url`, read in slices. `name`: see `byte_source::name`. `bytes`: its size. `version`: the answer's header `Sluice-Version`, of a server that
/// tells versions and growth (`sluice serve`, app/cli/serve/site.hpp); empty: the file stays as it is. Thread-safe; a
/// read waits for the browser.
[[nodiscard]] std::shared_ptr<trace::byte_source> source_at(std::string name, std::string url, std::string version,
                                                            std::uint64_t bytes);

}  // namespace sluice::browser
