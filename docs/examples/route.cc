/*
 * A program that asks berth for the path of a copy, in C++17. Built with
 *
 *     c++ -std=c++17 -o route route.cc $(pkg-config --cflags --libs libberth)
 *
 * usage: route FROM TO BYTES: prints the call of a running program, its segments and the sizes from
 * which on another option is better. Exit status 1 without an answer.
 */
#include <berth.hpp>

#include <cstdlib>
#include <iostream>

using namespace std::chrono_literals;

static void print(const libberth::routes &routes)
{
    static const char *const mechanisms[] = {"unknown", "best", "copy engine", "kernel", "host"};
    const libberth::route_option *option = routes.without_restart();
    if (option == nullptr)
        option = &routes.options.at(0); /* the program sets its variables and starts anew */
    std::cout << option->call << "\n";
    std::cout << option->predicted.time_ns / 1e6 << " ms\n";
    for (const libberth::segment &segment : option->segments) {
        std::cout << segment.fraction * 100 << " % by " << mechanisms[segment.mechanism];
        for (const std::string &place : segment.via)
            std::cout << " through " << place;
        std::cout << "\n";
    }
    for (const berth_crossover &crossover : routes.crossovers)
        std::cout << "from " << crossover.bytes
                  << " bytes on: " << routes.options[crossover.above].call << "\n";
    for (const libberth::reason &warning : routes.warnings)
        std::cout << "note: " << warning.text << "\n";
}

int main(int argc, char **argv)
{
    libberth::route_request request;
    if (argc != 4 || (request.bytes = std::strtoll(argv[3], nullptr, 10)) < 1) {
        std::cerr << "usage: route FROM TO BYTES\n";
        return 64;
    }
    request.from = argv[1];
    request.to = argv[2];
    request.whole_node = true;
    try {
        libberth::connection berth(std::nullopt, 2s);
        print(berth.route(request));
    } catch (const libberth::error &error) {
        std::cerr << "route: " << error.what() << " (" << error.name() << ")\n";
        return 1;
    }
    return 0;
}
