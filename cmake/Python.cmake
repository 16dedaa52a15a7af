# How the Python extension modules of the package are built and placed.

# crosscut_place_module(target name suffix): the target becomes crosscut.<name>, with the recorder
# library found beside it, in the development package and in the wheel.
function(crosscut_place_module target name suffix)
  set_target_properties(${target} PROPERTIES
    PREFIX "" OUTPUT_NAME ${name} SUFFIX ${suffix}
    LIBRARY_OUTPUT_DIRECTORY ${CROSSCUT_PACKAGE_DIR}
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/lib")
  install(TARGETS ${target} LIBRARY DESTINATION crosscut COMPONENT wheel)
endfunction()

# crosscut_python_facts(python): sets include, suffix and version of an interpreter: "311"; "314t" is
# one without a GIL.
function(crosscut_python_facts python)
  execute_process(
    COMMAND ${python} -c "import sys, sysconfig; \
print(sysconfig.get_path('include'), sysconfig.get_config_var('EXT_SUFFIX'), \
'%d%d%s' % (*sys.version_info[:2], sys.abiflags), sep=';')"
    OUTPUT_VARIABLE facts OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  list(GET facts 0 include)
  list(GET facts 1 suffix)
  list(GET facts 2 version)
  set(include ${include} PARENT_SCOPE)
  set(suffix ${suffix} PARENT_SCOPE)
  set(version ${version} PARENT_SCOPE)
endfunction()

# crosscut_recording_module(name SOURCES ... OPTIONS ... [NEEDS_GIL]): crosscut.<name> for every
# interpreter of Python_EXECUTABLE and CROSSCUT_PYTHONS; each includes its own interpreter's headers.
# Targets are crosscut<name>_<version>; an interpreter of a version that was there already is left
# out, and with NEEDS_GIL one that has no GIL.
function(crosscut_recording_module name)
  cmake_parse_arguments(ARG "NEEDS_GIL" "" "SOURCES;OPTIONS" ${ARGN})
  foreach(python ${Python_EXECUTABLE} ${CROSSCUT_PYTHONS})
    crosscut_python_facts(${python})
    set(target crosscut${name}_${version})
    if(TARGET ${target} OR (ARG_NEEDS_GIL AND version MATCHES "t"))
      continue()
    endif()
    add_library(${target} MODULE ${ARG_SOURCES})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
    target_include_directories(${target} SYSTEM PRIVATE ${include})
    target_compile_options(${target} PRIVATE -fno-exceptions -fno-rtti ${ARG_OPTIONS})
    target_link_libraries(${target} PRIVATE crosscut crosscut_headers)
    crosscut_place_module(${target} ${name} ${suffix})
  endforeach()
endfunction()

# crosscut_python_test(name SOURCES ...): a unit test for the headers of each of these interpreters,
# <name>_<version>. Nothing of Python is linked: the test defines what it needs.
function(crosscut_python_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES" ${ARGN})
  if(NOT CROSSCUT_TESTS)
    return()
  endif()
  foreach(python ${Python_EXECUTABLE} ${CROSSCUT_PYTHONS})
    crosscut_python_facts(${python})
    set(target ${name}_${version})
    if(NOT TARGET ${target} AND EXISTS ${include}/Python.h)
      crosscut_test(${target} SOURCES ${ARG_SOURCES} DEPS crosscut_headers)
      target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
      target_include_directories(${target} SYSTEM PRIVATE ${include})
    endif()
  endforeach()
endfunction()
