#pragma once

#include <string>
#include <vector>

namespace sluice::cli {

/// Serves `file` over standard input and output, until the input ends, to a `sluice open ssh://HOST/PATH` that runs on
/// another machine. Returns the exit status; reports errors with `complain`.
int serve_stdio(const std::string& file, const std::vector<std::string>& sources_from);

}  // namespace sluice::cli
