// map, reduce.
#include "src/cli/cluster.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <utility>

#include "src/cli/commands.h"
#include "src/cli/python.h"
#include "src/cli/values.h"

namespace crosscut::cli {
namespace {

struct ClusterArgs {
  std::vector<std::string> sources;
  std::string output, job, engine = "local", memory = "2GB";
  unsigned workers = 0;
};

std::vector<std::string> OptionsOf(const ClusterArgs& args) {
  std::vector<std::string> words = {"--output=" + args.output};
  if (!args.job.empty()) words.push_back("--job=" + args.job);
  if (args.workers != 0) words.push_back("--workers=" + std::to_string(args.workers));
  return words;
}

// What both verbs take.
void AddShared(CLI::App* verb, ClusterArgs* args) {
  verb->add_option("--job", args->job, "what the job is called, where its runs do not say it")
      ->option_text("ID");
  verb->add_option("--workers", args->workers, "processes at once; default one per processor")
      ->check(CLI::Range(1u, 4096u).description(""))
      ->option_text("N");
}

}  // namespace

bool IsCluster(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(std::filesystem::path(path) / "cluster.json", error);
}

int RunOnCluster(std::string verb, std::vector<std::string> options,
                 const std::vector<std::string>& inputs) {
  options.insert(options.begin(), std::move(verb));
  options.emplace_back("--");
  options.insert(options.end(), inputs.begin(), inputs.end());
  return RunPython(options);
}

void AddMap(CLI::App* app, Run* run) {
  auto args = std::make_shared<ClusterArgs>();
  CLI::App* verb = app->add_subcommand("map", "Keep what is bounded of a host's runs: a partial");
  verb->add_option("RUN", args->sources,
                   "run directories, folders with runs in them, or other tools' traces.\n"
                   "Needs the extra crosscut[cluster]")
      ->required()
      ->option_text("...");
  verb->add_option("-o", args->output, "where to write the partials: a folder, or a URI of a store")
      ->required()
      ->option_text("DIR");
  AddShared(verb, args.get());
  verb->callback(
      [=] { *run = [=] { return RunOnCluster("map", OptionsOf(*args), args->sources); }; });
}

void AddReduce(CLI::App* app, Run* run) {
  auto args = std::make_shared<ClusterArgs>();
  CLI::App* verb = app->add_subcommand("reduce", "Put the ranks of a job together: a cluster");
  verb->add_option("SRC", args->sources,
                   "partials, folders or stores of partials, and runs, which are mapped first.\n"
                   "Needs the extra crosscut[cluster]")
      ->required()
      ->option_text("...");
  verb->add_option("-o", args->output, "the cluster folder to write; made if absent")
      ->required()
      ->option_text("CLUSTER");
  verb->add_option("--on", args->engine,
                   "where runs are mapped: local (default), or ray: by the nodes of a\nRay "
                   "cluster, where their files lie")
      ->check(OneOf("engine", {"local", "ray"}))
      ->option_text("ENGINE");
  verb->add_option("--memory", args->memory,
                   "what the database may hold, beyond which it uses files; default 2GB")
      ->option_text("SIZE");
  AddShared(verb, args.get());
  verb->callback([=] {
    *run = [=] {
      auto words = OptionsOf(*args);
      words.push_back("--on=" + args->engine);
      words.push_back("--memory=" + args->memory);
      return RunOnCluster("reduce", words, args->sources);
    };
  });
}

}  // namespace crosscut::cli
