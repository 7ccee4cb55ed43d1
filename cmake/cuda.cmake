# The CUDA toolkit: only its headers and nvcc. The driver and CUPTI are opened at run time, so that nothing we build links them.
#
# After this: SLUICE_HAVE_CUDA (TRUE or FALSE), target cuda_headers (cuda.h, cupti.h, nvtx3), SLUICE_NVCC.

set(SLUICE_HAVE_CUDA FALSE)
if(SLUICE_CUDA STREQUAL "OFF")
  return()
endif()

set(cuda_roots "$ENV{CUDA_HOME}" "$ENV{CUDA_PATH}" /usr/local/cuda "${SLUICE_DEPS_DIR}/cuda-13.0")
find_program(SLUICE_NVCC nvcc PATHS ${cuda_roots} PATH_SUFFIXES bin)
if(SLUICE_NVCC)
  file(REAL_PATH "${SLUICE_NVCC}" nvcc)
  cmake_path(GET nvcc PARENT_PATH cuda_root)
  cmake_path(GET cuda_root PARENT_PATH cuda_root)
  find_path(SLUICE_CUDA_INCLUDE cuda.h HINTS "${cuda_root}" PATH_SUFFIXES include targets/x86_64-linux/include NO_DEFAULT_PATH)
  find_path(SLUICE_CUPTI_INCLUDE cupti.h HINTS "${cuda_root}" PATH_SUFFIXES include targets/x86_64-linux/include extras/CUPTI/include
            NO_DEFAULT_PATH)
endif()

set(cuda_missing "")
if(NOT SLUICE_NVCC)
  set(cuda_missing "no nvcc found")
elseif(NOT SLUICE_CUDA_INCLUDE)
  set(cuda_missing "no cuda.h beside ${SLUICE_NVCC}")
elseif(NOT SLUICE_CUPTI_INCLUDE)
  set(cuda_missing "no cupti.h beside ${SLUICE_NVCC}")
else()
  file(STRINGS "${SLUICE_CUDA_INCLUDE}/cuda.h" version_line REGEX "^#define CUDA_VERSION [0-9]+")
  string(REGEX MATCH "[0-9]+" cuda_version "${version_line}")
  if(cuda_version LESS 12040)
    set(cuda_missing "the toolkit at ${cuda_root} is version ${cuda_version}, 12040 or later is needed")
  endif()
endif()

if(cuda_missing AND SLUICE_CUDA STREQUAL "ON")
  message(FATAL_ERROR "CUDA: ${cuda_missing}. Run ./dev setup, set CUDA_HOME, or build without it (-DSLUICE_CUDA=OFF).")
elseif(cuda_missing)
  message(STATUS "CUDA: ${cuda_missing}; building without the CUDA backend and the capture library")
  return()
endif()

set(SLUICE_HAVE_CUDA TRUE)
message(STATUS "CUDA: version ${cuda_version} at ${cuda_root}")
add_library(cuda_headers INTERFACE)
target_include_directories(cuda_headers SYSTEM INTERFACE "${SLUICE_CUDA_INCLUDE}" "${SLUICE_CUPTI_INCLUDE}")
target_compile_definitions(cuda_headers INTERFACE SLUICE_HAVE_CUDA=1)

# sluice_cuda_fatbin(TARGET FILE.cu)
# Compiles FILE.cu to a fatbin (sm_90 code, and PTX that newer and older GPUs from sm_80 on translate) and embeds it in TARGET as
#   extern "C" const unsigned char <FILE>_fatbin[], <FILE>_fatbin_end[];
function(sluice_cuda_fatbin target source)
  cmake_path(GET source STEM name)
  set(fatbin "${CMAKE_CURRENT_BINARY_DIR}/${name}.fatbin")
  add_custom_command(
    OUTPUT "${fatbin}"
    COMMAND "${SLUICE_NVCC}" -fatbin -O3 -std=c++17 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_80,code=compute_80
            -I "${CMAKE_SOURCE_DIR}" -o "${fatbin}" "${CMAKE_CURRENT_SOURCE_DIR}/${source}"
    DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${source}"
    COMMENT "Compiling ${source} for the GPU"
    VERBATIM)
  sluice_embed(${target} ${name}_fatbin "${fatbin}")
endfunction()
