#pragma once

#include <string>
#include <vector>

namespace sluice::cli {

/// Answers what `sluice open ssh://HOST/PATH` on another machine asks about `file`, on standard input and output, until
/// the input ends. Returns the exit status; reports errors with `complain`.
int serve_stdio(const std::string& file, const std::vector<std::string>& sources_from);

}  // namespace sluice::cli
