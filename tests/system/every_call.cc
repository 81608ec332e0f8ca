/*
 * Makes every call of berth.hpp that has an answer, so often as it is told, and prints for each
 * "METHOD STATUS": "done" or the name of the error. Reads all texts and arrays of each answer,
 * because berth.hpp copies them.
 *
 * usage: every_call SOCKET, with lines "METHOD COUNT" on the standard input
 */
#include <berth.hpp>

#include <cstring>
#include <functional>
#include <iostream>

static void expect(bool fine, const char *text)
{
    if (!fine)
        throw std::logic_error(text);
}

/* The map and the memory outlive the connection. */
static void use_map(libberth::connection &berth)
{
    const std::string path = std::getenv("BERTH_SOCKET");
    const libberth::map map = libberth::connection(path).map();
    expect(map.is_current() && map.snapshot() == berth.health().snapshot, "the present map");
    const std::optional<int> gpu = map.place("gpu0"), node = map.place("numa0");
    expect(gpu && node && !map.place("gpu99"), "places by name");
    expect(map.place_name(*gpu) == "gpu0" && !map.place_name(-1), "names of places");
    const auto near = map.nearest_memory(*gpu, BERTH_KIND_PINNED);
    expect(near && map.place_name(*near)->compare(0, 4, "numa") == 0, "a memory near a gpu");
    expect(map.transfer_ns(*node, *gpu, 1 << 26) > 0, "a time");
    expect(map.mechanism(*node, *gpu, 1 << 26) == BERTH_MECHANISM_COPY_ENGINE, "a mechanism");
    expect(map.source(*node, *gpu, 1 << 26) != BERTH_SOURCE_UNKNOWN, "a source");
}

static void use_memory(libberth::connection &berth)
{
    libberth::allocate_request request;
    request.bytes = 1 << 20;
    request.kinds = 1u << BERTH_KIND_SYSTEM;
    const std::string best = berth.allocate(request).options.at(0).memory;
    const std::string path = std::getenv("BERTH_SOCKET");
    libberth::buffer first = libberth::connection(path).alloc(request);
    const libberth::buffer buffer = std::move(first);
    expect(buffer.size() == 1 << 20 && !buffer.how().empty(), "its size");
    std::memset(buffer.data(), 1, buffer.size());
    expect(buffer.allocation().options.at(0).memory == best, "the advice behind it");
}

static const std::map<std::string, std::function<void(libberth::connection &)>> calls = {
    {"io.berth.Placement.Bind",
     [](libberth::connection &berth) {
         libberth::bind_request request;
         request.whole_node = true;
         berth.bind(request);
     }},
    {"io.berth.Placement.Allocate",
     [](libberth::connection &berth) {
         libberth::allocate_request request;
         request.bytes = 1;
         request.accesses = {{"gpu0", 1, 0, false, 0}};
         request.whole_node = true;
         berth.allocate(request);
     }},
    {"io.berth.Placement.Route",
     [](libberth::connection &berth) {
         libberth::route_request request;
         request.from = "gpu0";
         request.to = "gpu1";
         request.bytes = 1;
         request.concurrent = {{"gpu1", "gpu0", 1}};
         request.allowed = libberth::allowed{"0-3", std::nullopt, libberth::texts{"gpu0", "gpu1"}};
         berth.route(request);
     }},
    {"io.berth.Placement.Claim",
     [](libberth::connection &berth) {
         libberth::claim_request request;
         request.places = {"gpu0"};
         request.ttl = std::chrono::minutes(1);
         berth.claim(request);
     }},
    {"io.berth.Placement.Release", [](libberth::connection &berth) { berth.release_key("key"); }},
    {"io.berth.Placement.ListClaims", [](libberth::connection &berth) { berth.list_claims(); }},
    {"io.berth.Placement.ListReports", [](libberth::connection &berth) { berth.list_reports(); }},
    {"io.berth.Health.Check", [](libberth::connection &berth) { berth.health({"gpu0"}); }},
    {"io.berth.Fabric.GetNode", [](libberth::connection &berth) { berth.node(); }},
    {"io.berth.Fabric.GetMatrix",
     [](libberth::connection &berth) {
         libberth::matrix_request request;
         request.metric = "memory_latency";
         request.to = libberth::texts{"numa0"};
         berth.matrix(request);
     }},
    {"io.berth.Fabric.ListMetrics", [](libberth::connection &berth) { berth.list_metrics(); }},
    {"io.berth.Fabric.GetContention", [](libberth::connection &berth) { berth.contention(); }},
    {"io.berth.Fabric.PredictKernel",
     [](libberth::connection &berth) {
         libberth::kernel_request request;
         request.place = "gpu0";
         request.test = BERTH_TEST_BS1;
         request.dofs = 1 << 20;
         berth.predict_kernel(request);
     }},
    {"io.berth.Fabric.GetCurves",
     [](libberth::connection &berth) {
         libberth::curves_request request;
         request.metric = "cpu_copy";
         berth.curves(request);
     }},
    {"io.berth.Fabric.History",
     [](libberth::connection &berth) {
         libberth::history_request request;
         request.metric = "memory_latency";
         request.from = request.to = "numa0";
         berth.history(request);
     }},
    {"map", use_map},
    {"alloc", use_memory},
    {"io.berth.Fabric.GetTuning", [](libberth::connection &berth) { berth.tuning(); }},
};

int main(int argc, char **argv)
{
    if (argc != 2)
        return 64;
    std::string method;
    long count;
    try {
        libberth::connection berth{std::string(argv[1])};
        while (std::cin >> method >> count)
            for (long i = 0; i < count; i++)
                try {
                    calls.at(method)(berth);
                    std::cout << method << " done\n";
                } catch (const libberth::error &error) {
                    std::cout << method << " " << error.name() << "\n";
                    if (berth_fd(berth.handle()) < 0)
                        berth = libberth::connection(std::string(argv[1]));
                } catch (const std::bad_alloc &) {
                    std::cout << method << " memory\n";
                    if (berth_fd(berth.handle()) < 0)
                        berth = libberth::connection(std::string(argv[1]));
                }
    } catch (const std::exception &error) {
        std::cout << method << " " << error.what() << "\n";
        return 1;
    }
    return 0;
}
