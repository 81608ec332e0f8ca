/**
 * libberth in C++17: a connection that closes itself, requests and answers as values, errors as
 * exceptions. Header only; link with libberth (pkg-config --cflags --libs libberth).
 *
 * berth.h says of each call what it answers, in which units, and how it fails. Names are the same
 * without berth_ and get_; health is berth_check. Here an unknown number or text is std::nullopt,
 * and a struct berth_texts a std::vector of std::string. Enumerations are those of berth.h.
 *
 * A function throws libberth::error when the call fails, std::bad_alloc when memory runs out, and
 * std::invalid_argument for ranks of another number than the tasks. One thread at a time uses a
 * connection; values belong to nobody.
 */
#ifndef BERTH_HPP
#define BERTH_HPP

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "berth.h"

namespace libberth
{

using texts = std::vector<std::string>;
using pairs = std::map<std::string, std::string>;

/** A failed call. what() is one line for a person. */
class error : public std::runtime_error
{
  public:
    explicit error(int status, const ::berth *from)
        : std::runtime_error(berth_error_detail(from)), status_(status),
          name_(berth_error_name(from))
    {
        if (const char *parameters = berth_error_parameters(from))
            parameters_ = parameters;
    }
    /** an enum berth_status, such as BERTH_ERROR_NO_SUCH_PLACE */
    int status() const noexcept { return status_; }
    /** "io.berth.Placement.NoSuchPlace", or "NoDaemon" for one found by the library */
    const std::string &name() const noexcept { return name_; }
    /** of the daemon's error, as JSON */
    const std::optional<std::string> &parameters() const noexcept { return parameters_; }

  private:
    int status_;
    std::string name_;
    std::optional<std::string> parameters_;
};

/** Conversions from and to the structures of berth.h. */
namespace detail
{

inline int check(int status, const ::berth *handle)
{
    if (status == BERTH_ERROR_OUT_OF_MEMORY)
        throw std::bad_alloc();
    if (status < 0)
        throw error(status, handle);
    return status;
}

inline std::optional<std::string> maybe(const char *text)
{
    return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}
inline std::optional<double> maybe(double value)
{
    return std::isnan(value) ? std::nullopt : std::optional<double>(value);
}
inline std::optional<std::int64_t> maybe(std::int64_t value)
{
    return value < 0 ? std::nullopt : std::optional<std::int64_t>(value);
}
inline std::optional<bool> maybe_bool(int value)
{
    return value < 0 ? std::nullopt : std::optional<bool>(value != 0);
}
inline texts copy(const berth_texts &from) { return texts(from.item, from.item + from.count); }
inline pairs copy(const berth_pairs &from)
{
    pairs to;
    for (std::size_t i = 0; i < from.count; i++)
        to[from.item[i].name] = from.item[i].value;
    return to;
}
template <class To, class From> std::vector<To> list(const From *item, std::size_t count)
{
    return std::vector<To>(item, item + count);
}

inline const char *pointer(const std::optional<std::string> &text)
{
    return text ? text->c_str() : nullptr;
}

/** Views of a request, valid as long as the request itself. An empty array has an address, too. */
class texts_view
{
  public:
    explicit texts_view(const texts &from)
    {
        for (const std::string &text : from)
            item_.push_back(text.c_str());
        item_.push_back(nullptr);
    }
    explicit texts_view(const std::optional<texts> &from)
        : texts_view(from ? *from : texts_of_none())
    {
        all_ = !from;
    }
    berth_texts get() const
    {
        return all_ ? berth_texts{nullptr, 0} : berth_texts{item_.data(), item_.size() - 1};
    }

  private:
    static const texts &texts_of_none()
    {
        static const texts none;
        return none;
    }
    std::vector<const char *> item_;
    bool all_ = false;
};

class pairs_view
{
  public:
    explicit pairs_view(const pairs &from)
    {
        for (const auto &[name, value] : from)
            item_.push_back({name.c_str(), value.c_str()});
    }
    berth_pairs get() const { return {item_.empty() ? nullptr : item_.data(), item_.size()}; }

  private:
    std::vector<berth_pair> item_;
};

} // namespace detail

/* ---- parts of answers ---- */

struct basis {
    std::string snapshot, claims;
    berth_origin origin;

    explicit basis(const berth_basis &c) : snapshot(c.snapshot), claims(c.claims), origin(c.origin)
    {
    }
};

struct reason {
    std::string code, text;
    texts subjects;
    std::map<std::string, double> numbers;

    explicit reason(const berth_reason &c)
        : code(c.code), text(c.text), subjects(detail::copy(c.subjects))
    {
        for (std::size_t i = 0; i < c.number_count; i++)
            numbers[c.numbers[i].name] = c.numbers[i].value;
    }
};
using reasons = std::vector<reason>;

struct prediction {
    double time_ns;
    std::optional<double> low_ns, high_ns;
    std::optional<std::string> bottleneck;
    berth_source source;
    std::optional<double> factor;
    std::optional<std::string> id;

    explicit prediction(const berth_prediction &c)
        : time_ns(c.time_ns), low_ns(detail::maybe(c.low_ns)), high_ns(detail::maybe(c.high_ns)),
          bottleneck(detail::maybe(c.bottleneck)), source(c.source),
          factor(detail::maybe(c.factor)), id(detail::maybe(c.id))
    {
    }
};

struct evidence {
    std::string metric, from, to, unit;
    pairs axes;
    texts flows;
    double value;
    std::optional<double> low, high;
    berth_source source;
    std::optional<std::int64_t> measured_at_s;

    explicit evidence(const berth_evidence &c)
        : metric(c.metric), from(c.from), to(c.to), unit(c.unit), axes(detail::copy(c.axes)),
          flows(detail::copy(c.flows)), value(c.value), low(detail::maybe(c.low)),
          high(detail::maybe(c.high)), source(c.source),
          measured_at_s(detail::maybe(c.measured_at_s))
    {
    }
};

namespace detail
{
inline reasons copy(const berth_reasons &from) { return list<reason>(from.item, from.count); }
inline std::optional<prediction> maybe(const berth_prediction &from)
{
    return std::isnan(from.time_ns) ? std::nullopt : std::optional<prediction>(from);
}
} // namespace detail

/** Part of the node that may be used. nullopt: all of it. */
struct allowed {
    std::optional<std::string> cpus;
    std::optional<texts> memory, gpus;
};

namespace detail
{
class allowed_view
{
  public:
    explicit allowed_view(const std::optional<allowed> &from)
        : given_(from.has_value()), memory_(from ? from->memory : all()),
          gpus_(from ? from->gpus : all()), view_{from ? pointer(from->cpus) : nullptr,
                                                  memory_.get(), gpus_.get()}
    {
    }
    allowed_view(const allowed_view &) = delete;
    allowed_view &operator=(const allowed_view &) = delete;
    const berth_allowed *get() const { return given_ ? &view_ : nullptr; }

  private:
    static const std::optional<texts> &all()
    {
        static const std::optional<texts> none_named;
        return none_named;
    }
    bool given_;
    texts_view memory_, gpus_;
    berth_allowed view_;
};
} // namespace detail

/* ---- Bind ---- */

struct bind_request {
    int tasks = 1;
    std::optional<int> gpus_per_task, cores_per_task, threads_per_core, tasks_per_gpu;
    std::vector<int> ranks; /* none, or one per task */
    std::optional<int> world;
    berth_pattern pattern = BERTH_PATTERN_DEFAULT;
    std::optional<std::int64_t> bytes, host_bytes;
    std::vector<berth_flow> flows;
    berth_mechanism mechanism = BERTH_MECHANISM_DEFAULT;
    berth_order order = BERTH_ORDER_DEFAULT;
    berth_visible visible = BERTH_VISIBLE_DEFAULT;
    std::optional<std::string> key;
    std::optional<libberth::allowed> allowed; /* nullopt: of the calling thread, or whole_node */
    bool whole_node = false;
};

struct task {
    int number;
    texts gpus, memory, nics;
    std::string cpus, cpu_mask;
    berth_memory_policy memory_policy;
    pairs environment;
    texts unset;

    explicit task(const berth_task &c)
        : number(c.task), gpus(detail::copy(c.gpus)), memory(detail::copy(c.memory)),
          nics(detail::copy(c.nics)), cpus(c.cpus), cpu_mask(c.cpu_mask),
          memory_policy(c.memory_policy), environment(detail::copy(c.environment)),
          unset(detail::copy(c.unset))
    {
    }
};

struct binding {
    std::vector<task> tasks;
    std::optional<prediction> predicted, baseline;
    bool proven_optimal;
    std::optional<double> gap;
    pairs launcher;
    std::vector<libberth::evidence> evidence;
    libberth::reasons reasons, warnings;
    libberth::basis basis;

    explicit binding(const berth_binding &c)
        : tasks(detail::list<task>(c.tasks, c.task_count)), predicted(detail::maybe(c.predicted)),
          baseline(detail::maybe(c.baseline)), proven_optimal(c.proven_optimal != 0),
          gap(detail::maybe(c.gap)), launcher(detail::copy(c.launcher)),
          evidence(detail::list<libberth::evidence>(c.evidence, c.evidence_count)),
          reasons(detail::copy(c.reasons)), warnings(detail::copy(c.warnings)), basis(c.basis)
    {
    }
};

/* ---- Allocate ---- */

struct access {
    std::string by;
    std::int64_t reads_bytes = 0, writes_bytes = 0;
    bool random = false;
    int cores = 0;
};

struct allocate_request {
    std::int64_t bytes = 0;
    std::vector<access> accesses; /* none: the caller's cores read the buffer once */
    unsigned kinds = 0;           /* bits 1u << BERTH_KIND_...; 0: all */
    std::optional<libberth::allowed> allowed;
    bool whole_node = false;
};

namespace detail
{
class allocate_view
{
  public:
    explicit allocate_view(const allocate_request &from) : allowed_(from.allowed)
    {
        for (const access &one : from.accesses)
            accesses_.push_back(
                {one.by.c_str(), one.reads_bytes, one.writes_bytes, one.random, one.cores});
        berth_allocate_request_init(&request_);
        request_.bytes = from.bytes;
        request_.accesses = accesses_.empty() ? nullptr : accesses_.data();
        request_.access_count = accesses_.size();
        request_.kinds = from.kinds;
        request_.allowed = allowed_.get();
        request_.whole_node = from.whole_node;
    }
    const berth_allocate_request *get() const { return &request_; }

  private:
    allowed_view allowed_;
    std::vector<berth_access> accesses_;
    berth_allocate_request request_;
};
} // namespace detail

struct memory_option {
    std::string memory;
    berth_memory_kind kind;
    std::string call;
    std::optional<prediction> predicted;
    std::optional<double> setup_ns;
    std::optional<std::int64_t> free_bytes, free_at_s;
    std::vector<libberth::evidence> evidence;

    explicit memory_option(const berth_memory_option &c)
        : memory(c.memory), kind(c.kind), call(c.call), predicted(detail::maybe(c.predicted)),
          setup_ns(detail::maybe(c.setup_ns)), free_bytes(detail::maybe(c.free_bytes)),
          free_at_s(detail::maybe(c.free_at_s)),
          evidence(detail::list<libberth::evidence>(c.evidence, c.evidence_count))
    {
    }
};

struct allocation {
    std::vector<memory_option> options; /* best first */
    libberth::reasons reasons, warnings;
    libberth::basis basis;

    explicit allocation(const berth_allocation &c)
        : options(detail::list<memory_option>(c.options, c.option_count)),
          reasons(detail::copy(c.reasons)), warnings(detail::copy(c.warnings)), basis(c.basis)
    {
    }
};

/* ---- Route ---- */

struct transfer {
    std::string from, to;
    std::int64_t bytes = 0;
};

struct route_request {
    std::string from, to;
    std::int64_t bytes = 0;
    bool overlap = false, both_directions = false, allow_unmeasured = false;
    std::vector<transfer> concurrent;
    std::optional<libberth::allowed> allowed;
    bool whole_node = false;
};

struct segment {
    berth_mechanism mechanism;
    texts via;
    std::optional<std::int64_t> chunk_bytes, streams;
    double fraction;

    explicit segment(const berth_segment &c)
        : mechanism(c.mechanism), via(detail::copy(c.via)),
          chunk_bytes(detail::maybe(c.chunk_bytes)), streams(detail::maybe(c.streams)),
          fraction(c.fraction)
    {
    }
};

struct route_option {
    std::vector<segment> segments;
    std::string call;
    pairs environment;
    bool needs_restart;
    std::optional<bool> may_lead;
    prediction predicted;
    std::optional<std::string> worth_measuring;
    std::vector<libberth::evidence> evidence;

    explicit route_option(const berth_route_option &c)
        : segments(detail::list<segment>(c.segments, c.segment_count)), call(c.call),
          environment(detail::copy(c.environment)), needs_restart(c.needs_restart != 0),
          may_lead(detail::maybe_bool(c.may_lead)), predicted(c.predicted),
          worth_measuring(detail::maybe(c.worth_measuring)),
          evidence(detail::list<libberth::evidence>(c.evidence, c.evidence_count))
    {
    }
};

struct routes {
    std::vector<route_option> options; /* best first */
    std::vector<berth_crossover> crossovers;
    std::optional<double> b80_bytes;
    libberth::reasons reasons, warnings;
    libberth::basis basis;

    explicit routes(const berth_routes &c)
        : options(detail::list<route_option>(c.options, c.option_count)),
          crossovers(detail::list<berth_crossover>(c.crossovers, c.crossover_count)),
          b80_bytes(detail::maybe(c.b80_bytes)), reasons(detail::copy(c.reasons)),
          warnings(detail::copy(c.warnings)), basis(c.basis)
    {
    }

    /** The option for a running program; nullptr when each needs a restart or may not lead. */
    const route_option *without_restart() const
    {
        for (const route_option &option : options)
            if (!option.needs_restart && option.may_lead.value_or(&option == options.data()))
                return &option;
        return nullptr;
    }
};

/* ---- Report ---- */

struct report_kind {
    berth_method method;
    std::string form;
    std::int64_t users, bytes, reports;
    berth_source source;
    berth_reporter by;
    double error_before, error_after;
    std::optional<double> factor;

    explicit report_kind(const berth_report_kind &c)
        : method(c.method), form(c.form), users(c.users), bytes(c.bytes), reports(c.reports),
          source(c.source), by(c.by), error_before(c.error_before), error_after(c.error_after),
          factor(detail::maybe(c.factor))
    {
    }
};

/* ---- Check ---- */

struct slow_value {
    std::string series, unit;
    double value, expected;

    explicit slow_value(const berth_slow_value &c)
        : series(c.series), unit(c.unit), value(c.value), expected(c.expected)
    {
    }
};

struct finding_cell {
    std::string metric, from, to;
    pairs where;
    std::optional<double> low, high;
    std::optional<std::int64_t> measured_at_s;

    explicit finding_cell(const berth_finding_cell &c)
        : metric(c.metric), from(c.from), to(c.to), where(detail::copy(c.where)),
          low(detail::maybe(c.low)), high(detail::maybe(c.high)),
          measured_at_s(detail::maybe(c.measured_at_s))
    {
    }
};

struct finding {
    berth_severity severity;
    std::string place, code, text;
    std::optional<std::string> unit;
    std::optional<double> value, expected;
    std::optional<std::int64_t> since_s;
    std::size_t explains;
    std::vector<slow_value> slow;
    std::optional<std::string> action;
    std::vector<std::string> commands;
    std::optional<finding_cell> cell;

    explicit finding(const berth_finding &c)
        : severity(c.severity), place(c.place), code(c.code), text(c.text),
          unit(detail::maybe(c.unit)), value(detail::maybe(c.value)),
          expected(detail::maybe(c.expected)), since_s(detail::maybe(c.since_s)),
          explains(c.explains), slow(detail::list<slow_value>(c.slow, c.slow_count)),
          action(detail::maybe(c.action)), commands(detail::copy(c.commands)),
          cell(c.cell.metric == nullptr ? std::nullopt : std::optional<finding_cell>(c.cell))
    {
    }
};

struct health {
    berth_verdict verdict;
    bool drain;
    std::string reason;
    std::vector<finding> findings, unconfirmed;
    std::optional<std::int64_t> last_probe_at_s;
    std::string snapshot;
    berth_origin origin;

    explicit health(const berth_health &c)
        : verdict(c.verdict), drain(c.drain != 0), reason(c.reason),
          findings(detail::list<finding>(c.findings, c.finding_count)),
          unconfirmed(detail::list<finding>(c.unconfirmed, c.unconfirmed_count)),
          last_probe_at_s(detail::maybe(c.last_probe_at_s)), snapshot(c.snapshot), origin(c.origin)
    {
    }
};

/* ---- GetMatrix, GetCurves, History ---- */

struct curves_request {
    std::string metric;
    std::optional<texts> from, to; /* nullopt: all places */
    pairs where;
};

struct matrix_request {
    std::string metric;
    std::optional<texts> from, to; /* nullopt: all places */
    pairs where;
    std::optional<std::int64_t> at_s; /* nullopt: the present */
};

struct cell {
    std::string from, to;
    pairs axes;
    std::optional<double> value, low, high;
    std::optional<std::int64_t> repetitions;
    berth_source source;
    std::optional<std::int64_t> measured_at_s;
    std::optional<std::string> why_not;

    explicit cell(const berth_cell &c)
        : from(c.from), to(c.to), axes(detail::copy(c.axes)), value(detail::maybe(c.value)),
          low(detail::maybe(c.low)), high(detail::maybe(c.high)),
          repetitions(detail::maybe(c.repetitions)), source(c.source),
          measured_at_s(detail::maybe(c.measured_at_s)), why_not(detail::maybe(c.why_not))
    {
    }
};

struct matrix {
    std::string metric, unit;
    std::vector<cell> cells; /* sparse */
    libberth::basis basis;

    explicit matrix(const berth_matrix &c)
        : metric(c.metric), unit(c.unit), cells(detail::list<cell>(c.cells, c.cell_count)),
          basis(c.basis)
    {
    }
};

struct piece {
    std::int64_t from_bytes;
    double t0_ns;
    std::optional<double> bytes_per_s;

    explicit piece(const berth_piece &c)
        : from_bytes(c.from_bytes), t0_ns(c.t0_ns), bytes_per_s(detail::maybe(c.bytes_per_s))
    {
    }
};

struct curve {
    std::string from, to;
    pairs axes;
    std::optional<double> t0_call_ns, t0_queue_ns;
    double wmax_bytes_per_s;
    std::optional<double> b80_bytes;
    double residual;
    std::int64_t sizes, least_bytes, most_bytes;
    std::optional<std::int64_t> repetitions, measured_at_s;
    std::vector<piece> pieces; /* ascending */

    explicit curve(const berth_curve &c)
        : from(c.from), to(c.to), axes(detail::copy(c.axes)),
          t0_call_ns(detail::maybe(c.t0_call_ns)), t0_queue_ns(detail::maybe(c.t0_queue_ns)),
          wmax_bytes_per_s(c.wmax_bytes_per_s), b80_bytes(detail::maybe(c.b80_bytes)),
          residual(c.residual), sizes(c.sizes), least_bytes(c.least_bytes),
          most_bytes(c.most_bytes), repetitions(detail::maybe(c.repetitions)),
          measured_at_s(detail::maybe(c.measured_at_s)),
          pieces(detail::list<piece>(c.pieces, c.piece_count))
    {
    }
};

struct curves {
    std::string metric;
    std::vector<curve> all;
    libberth::basis basis;

    explicit curves(const berth_curves &c)
        : metric(c.metric), all(detail::list<curve>(c.curves, c.curve_count)), basis(c.basis)
    {
    }
};

struct history_request {
    std::string metric, from, to;
    pairs where;
    std::optional<std::int64_t> since_s;
};

struct point {
    std::int64_t measured_at_s;
    double value;
    std::optional<double> low, high;
    std::int64_t run;
    std::optional<std::int64_t> values;
    pairs conditions;

    explicit point(const berth_point &c)
        : measured_at_s(c.measured_at_s), value(c.value), low(detail::maybe(c.low)),
          high(detail::maybe(c.high)), run(c.run), values(detail::maybe(c.values)),
          conditions(detail::copy(c.conditions))
    {
    }
};

struct metric {
    std::string name, unit, about;
    berth_better better;
    texts axes;
    pairs defaults;
    std::int64_t cells, measured;

    explicit metric(const berth_metric &c)
        : name(c.name), unit(c.unit), about(c.about), better(c.better), axes(detail::copy(c.axes)),
          defaults(detail::copy(c.defaults)), cells(c.cells), measured(c.measured)
    {
    }
};

/* ---- GetContention ---- */

struct concurrent_transfer {
    std::string from, to;
    pairs axes;
    double bytes_per_s;
    std::optional<double> low, high, predicted_bytes_per_s;

    explicit concurrent_transfer(const berth_concurrent_transfer &c)
        : from(c.from), to(c.to), axes(detail::copy(c.axes)), bytes_per_s(c.bytes_per_s),
          low(detail::maybe(c.low)), high(detail::maybe(c.high)),
          predicted_bytes_per_s(detail::maybe(c.predicted_bytes_per_s))
    {
    }
};

struct concurrent_run {
    std::string metric;
    std::vector<concurrent_transfer> flows;
    berth_source source;
    std::optional<std::int64_t> measured_at_s;
    std::optional<bool> reproduced;

    explicit concurrent_run(const berth_concurrent_run &c)
        : metric(c.metric), flows(detail::list<concurrent_transfer>(c.flows, c.flow_count)),
          source(c.source), measured_at_s(detail::maybe(c.measured_at_s)),
          reproduced(detail::maybe_bool(c.reproduced))
    {
    }
};

struct capacity {
    std::int64_t transfers;
    double bytes_per_s;
    std::optional<double> low, high;

    explicit capacity(const berth_capacity &c)
        : transfers(c.transfers), bytes_per_s(c.bytes_per_s), low(detail::maybe(c.low)),
          high(detail::maybe(c.high))
    {
    }
};

struct shared_limit {
    std::string name, metric;
    texts users, alternatives;
    std::vector<capacity> capacities; /* ascending in transfers */

    explicit shared_limit(const berth_shared_limit &c)
        : name(c.name), metric(c.metric), users(detail::copy(c.users)),
          alternatives(detail::copy(c.alternatives)),
          capacities(detail::list<capacity>(c.capacities, c.capacity_count))
    {
    }
};

struct contention {
    std::vector<concurrent_run> runs;
    std::vector<shared_limit> shared;
    libberth::basis basis;

    explicit contention(const berth_contention &c)
        : runs(detail::list<concurrent_run>(c.runs, c.run_count)),
          shared(detail::list<shared_limit>(c.shared, c.shared_count)), basis(c.basis)
    {
    }
};

/* ---- GetNode ---- */

struct place {
    std::string name;
    berth_place_kind kind;
    std::optional<std::string> parent, numa, cpus, model, pci, uuid, render_node;
    std::optional<std::int64_t> capacity_bytes;
    std::optional<std::int64_t> minor_number; /* minor is a macro of some systems */
    pairs details;

    explicit place(const berth_place &c)
        : name(c.name), kind(c.kind), parent(detail::maybe(c.parent)), numa(detail::maybe(c.numa)),
          cpus(detail::maybe(c.cpus)), model(detail::maybe(c.model)), pci(detail::maybe(c.pci)),
          uuid(detail::maybe(c.uuid)), render_node(detail::maybe(c.render_node)),
          capacity_bytes(detail::maybe(c.capacity_bytes)), minor_number(detail::maybe(c.minor)),
          details(detail::copy(c.details))
    {
    }
};

struct link {
    std::string from, to;
    berth_link_kind kind;
    berth_link_state state;
    std::int64_t width;
    std::optional<double> nominal_bytes_per_s, measured_bytes_per_s, engine_bytes_per_s;

    explicit link(const berth_link &c)
        : from(c.from), to(c.to), kind(c.kind), state(c.state), width(c.width),
          nominal_bytes_per_s(detail::maybe(c.nominal_bytes_per_s)),
          measured_bytes_per_s(detail::maybe(c.measured_bytes_per_s)),
          engine_bytes_per_s(detail::maybe(c.engine_bytes_per_s))
    {
    }
};

struct resource {
    std::string name;
    std::optional<double> capacity_bytes_per_s, low, high;
    bool inferred;
    texts users;

    explicit resource(const berth_resource &c)
        : name(c.name), capacity_bytes_per_s(detail::maybe(c.capacity_bytes_per_s)),
          low(detail::maybe(c.low)), high(detail::maybe(c.high)), inferred(c.inferred != 0),
          users(detail::copy(c.users))
    {
    }
};

struct node {
    std::string name;
    std::vector<place> places;
    std::vector<link> links;
    std::vector<resource> resources;
    pairs software;
    texts disagreements;
    libberth::basis basis;

    explicit node(const berth_node &c)
        : name(c.name), places(detail::list<place>(c.places, c.place_count)),
          links(detail::list<link>(c.links, c.link_count)),
          resources(detail::list<resource>(c.resources, c.resource_count)),
          software(detail::copy(c.software)), disagreements(detail::copy(c.disagreements)),
          basis(c.basis)
    {
    }
};

/* ---- GetTuning ---- */

struct tuning_request {
    std::optional<std::string> place, to; /* nullopt: each gpu, its own memory */
    berth_operation operation = BERTH_OPERATION_DEFAULT;
};

struct tuned {
    std::optional<std::int64_t> value;
    std::optional<std::string> why_not;
    berth_mechanism by;
    std::optional<std::string> from, to;
    std::optional<double> bytes_per_s, low, high, next_bytes_per_s;
    std::optional<std::int64_t> measured_at_s;

    explicit tuned(const berth_tuned &c)
        : value(detail::maybe(c.value)), why_not(detail::maybe(c.why_not)), by(c.by),
          from(detail::maybe(c.from)), to(detail::maybe(c.to)),
          bytes_per_s(detail::maybe(c.bytes_per_s)), low(detail::maybe(c.low)),
          high(detail::maybe(c.high)), next_bytes_per_s(detail::maybe(c.next_bytes_per_s)),
          measured_at_s(detail::maybe(c.measured_at_s))
    {
    }
};

struct tuning {
    std::string place, to;
    berth_operation operation;
    tuned grid, block, unroll, chunk_bytes, streams, threshold_bytes;
    std::optional<std::int64_t> certain_below_bytes;
    berth_mechanism below, above;
    pairs conditions;
    std::optional<std::string> stale;

    explicit tuning(const berth_tuning &c)
        : place(c.place), to(c.to), operation(c.operation), grid(c.grid), block(c.block),
          unroll(c.unroll), chunk_bytes(c.chunk_bytes), streams(c.streams),
          threshold_bytes(c.threshold_bytes),
          certain_below_bytes(detail::maybe(c.certain_below_bytes)), below(c.below), above(c.above),
          conditions(detail::copy(c.conditions)), stale(detail::maybe(c.stale))
    {
    }
};

struct tunings {
    std::vector<tuning> all;
    libberth::basis basis;

    explicit tunings(const berth_tunings &c)
        : all(detail::list<tuning>(c.tunings, c.tuning_count)), basis(c.basis)
    {
    }
};

/* ---- PredictKernel ---- */

struct kernel_request {
    std::string place;
    berth_test test = BERTH_TEST_UNKNOWN;
    std::int64_t degree = 0, dofs = 0, reads_bytes = 0, writes_bytes = 0, flops = 0;
};

struct kernel_time {
    double time_ns;
    std::optional<double> low_ns, high_ns, t0_ns, b80_bytes;

    explicit kernel_time(const berth_kernel_time &c)
        : time_ns(c.time_ns), low_ns(detail::maybe(c.low_ns)), high_ns(detail::maybe(c.high_ns)),
          t0_ns(detail::maybe(c.t0_ns)), b80_bytes(detail::maybe(c.b80_bytes))
    {
    }
};

struct kernel {
    std::string place;
    berth_test test;
    std::int64_t bytes;
    double wmax_bytes_per_s;
    kernel_time queued;
    std::optional<kernel_time> called;
    std::optional<double> flops_per_s;
    berth_source source;
    std::optional<std::int64_t> measured_at_s;
    libberth::basis basis;

    explicit kernel(const berth_kernel &c)
        : place(c.place), test(c.test), bytes(c.bytes), wmax_bytes_per_s(c.wmax_bytes_per_s),
          queued(c.queued),
          called(std::isnan(c.called.time_ns) ? std::nullopt
                                              : std::optional<kernel_time>(c.called)),
          flops_per_s(detail::maybe(c.flops_per_s)), source(c.source),
          measured_at_s(detail::maybe(c.measured_at_s)), basis(c.basis)
    {
    }
};

/* ---- Claim ---- */

struct claim_request {
    texts places;
    berth_purpose purpose = BERTH_PURPOSE_COMPUTE;
    std::chrono::seconds ttl{0};
    std::optional<std::string> configuration, key, owner_cgroup;
    std::optional<std::int64_t> owner_pid;
    std::optional<std::chrono::seconds> wait; /* nullopt: fails at once instead */
};

struct claim_info {
    std::string claim;
    texts places;
    berth_purpose purpose;
    std::optional<std::string> configuration, key, owner_cgroup;
    std::int64_t uid;
    std::optional<std::int64_t> owner_pid;
    std::int64_t expires_at_s;

    explicit claim_info(const berth_claim_info &c)
        : claim(c.claim), places(detail::copy(c.places)), purpose(c.purpose),
          configuration(detail::maybe(c.configuration)), key(detail::maybe(c.key)),
          owner_cgroup(detail::maybe(c.owner_cgroup)), uid(c.uid),
          owner_pid(detail::maybe(c.owner_pid)), expires_at_s(c.expires_at_s)
    {
    }
};

struct grant : claim_info {
    std::optional<bool> stored;

    explicit grant(const berth_grant &c) : claim_info(c.claim), stored(detail::maybe_bool(c.stored))
    {
    }
};

struct claims {
    std::vector<claim_info> in_force, waiting;

    explicit claims(const berth_claims &c)
        : in_force(detail::list<claim_info>(c.claims, c.claim_count)),
          waiting(detail::list<claim_info>(c.waiting, c.waiting_count))
    {
    }
};

/* ---- things that end by themselves: memory, the map, copies ---- */

/** Memory from berth_alloc. */
class buffer
{
  public:
    using owned = std::unique_ptr<berth_buffer, void (*)(berth_buffer *)>;
    explicit buffer(owned buffer) : buffer_(std::move(buffer)) {}
    void *data() const noexcept { return buffer_->data; }
    std::size_t size() const noexcept { return static_cast<std::size_t>(buffer_->bytes); }
    std::string how() const { return buffer_->how; }
    libberth::allocation allocation() const { return libberth::allocation(*buffer_->allocation); }

  private:
    owned buffer_;
};

/** Look-ups without a call, by any number of threads. Places are the numbers of this map. */
class map
{
  public:
    using owned = std::unique_ptr<struct ::berth_map, void (*)(struct ::berth_map *)>;
    explicit map(owned map) : map_(std::move(map)) {}
    bool is_current() const noexcept { return berth_map_is_current(map_.get()) != 0; }
    std::string snapshot() const { return berth_map_snapshot(map_.get()); }
    std::optional<int> place(const std::string &name) const
    {
        return maybe_place(berth_map_place(map_.get(), name.c_str()));
    }
    std::optional<std::string> place_name(int place) const
    {
        return detail::maybe(berth_map_place_name(map_.get(), place));
    }
    std::optional<int> nearest_memory(int place, berth_memory_kind kind) const noexcept
    {
        return maybe_place(berth_map_nearest_memory(map_.get(), place, kind));
    }
    /** NAN where nothing is known */
    double transfer_ns(int from, int to, std::int64_t bytes) const noexcept
    {
        return berth_map_transfer_ns(map_.get(), from, to, bytes);
    }
    berth_mechanism mechanism(int from, int to, std::int64_t bytes) const noexcept
    {
        return berth_map_mechanism(map_.get(), from, to, bytes);
    }
    berth_source source(int from, int to, std::int64_t bytes) const noexcept
    {
        return berth_map_source(map_.get(), from, to, bytes);
    }

  private:
    static std::optional<int> maybe_place(int place) noexcept
    {
        return place < 0 ? std::nullopt : std::optional<int>(place);
    }
    owned map_;
};

/** Copies on the gpus of this process; see berth_copy. */
class copier
{
  public:
    using owned = std::unique_ptr<berth_copier, void (*)(berth_copier *)>;
    explicit copier(::berth *handle, owned copier) : handle_(handle), copier_(std::move(copier)) {}
    void copy(void *to, const void *from, std::size_t bytes, void *stream = nullptr)
    {
        detail::check(berth_copy(copier_.get(), to, from, bytes, stream), handle_);
    }
    std::string how() const { return berth_copy_how(copier_.get()); }

  private:
    ::berth *handle_;
    owned copier_;
};

/* ---- the connection ---- */

class connection
{
  public:
    /** Connects. path: nullopt for $BERTH_SOCKET, else the installed daemon's. timeout: of this and
     * of each call; below 0 without limit. */
    explicit connection(const std::optional<std::string> &path = std::nullopt,
                        std::chrono::milliseconds timeout = std::chrono::seconds(30))
        : handle_(made())
    {
        const auto most = std::chrono::milliseconds(std::numeric_limits<int>::max());
        berth_set_timeout(handle(), static_cast<int>(std::min(timeout, most).count()));
        check(berth_connect(handle(), detail::pointer(path)));
    }
    /** Uses a connected socket, which belongs to the connection at once. */
    static connection of_socket(int take_fd)
    {
        connection its(made());
        its.check(berth_connect_fd(its.handle(), take_fd));
        return its;
    }

    /** The handle for the other functions of berth.h: event loops, launchers, berth_apply. */
    ::berth *handle() const noexcept { return handle_.get(); }

    /** Throws for a status that is an error of this connection's handle; returns others. */
    int check(int status) const { return detail::check(status, handle()); }

    libberth::binding bind(const bind_request &from)
    {
        const detail::allowed_view allowed(from.allowed);
        berth_bind_request request;
        berth_bind_request_init(&request);
        request.tasks = from.tasks;
        request.gpus_per_task = from.gpus_per_task.value_or(-1);
        request.cores_per_task = from.cores_per_task.value_or(-1);
        request.threads_per_core = from.threads_per_core.value_or(-1);
        request.tasks_per_gpu = from.tasks_per_gpu.value_or(-1);
        request.world = from.world.value_or(-1);
        request.pattern = from.pattern;
        request.bytes = from.bytes.value_or(-1);
        request.host_bytes = from.host_bytes.value_or(-1);
        request.mechanism = from.mechanism;
        request.order = from.order;
        request.visible = from.visible;
        request.key = detail::pointer(from.key);
        request.allowed = allowed.get();
        request.whole_node = from.whole_node;
        if (!from.ranks.empty()) {
            if (from.ranks.size() != static_cast<std::size_t>(from.tasks))
                throw std::invalid_argument("ranks are none, or one for each task");
            request.ranks = from.ranks.data();
        }
        if (!from.flows.empty()) {
            request.flows = from.flows.data();
            request.flow_count = from.flows.size();
        }
        return ask<libberth::binding>(berth_bind, berth_binding_free, &request);
    }

    libberth::allocation allocate(const allocate_request &from)
    {
        const detail::allocate_view view(from);
        return ask<libberth::allocation>(berth_allocate, berth_allocation_free, view.get());
    }
    /** Gets the memory that Allocate names first; the buffer may outlive the connection. */
    libberth::buffer alloc(const allocate_request &from)
    {
        const detail::allocate_view view(from);
        return libberth::buffer(own(berth_alloc, berth_buffer_free, view.get()));
    }

    /** The answers of the current snapshot, which need no connection. */
    libberth::map map() { return libberth::map(own(berth_map, berth_map_close)); }

    /** Copies as Route advises; the connection must live longer. */
    libberth::copier copier()
    {
        return libberth::copier(handle(), own(berth_copier_new, berth_copier_free));
    }

    libberth::routes route(const route_request &from)
    {
        const detail::allowed_view allowed(from.allowed);
        std::vector<berth_transfer> concurrent;
        for (const transfer &one : from.concurrent)
            concurrent.push_back({one.from.c_str(), one.to.c_str(), one.bytes});
        berth_route_request request = {};
        request.from = from.from.c_str();
        request.to = from.to.c_str();
        request.bytes = from.bytes;
        request.overlap = from.overlap;
        request.both_directions = from.both_directions;
        request.allow_unmeasured = from.allow_unmeasured;
        request.concurrent = concurrent.empty() ? nullptr : concurrent.data();
        request.concurrent_count = concurrent.size();
        request.allowed = allowed.get();
        request.whole_node = from.whole_node;
        return ask<libberth::routes>(berth_route, berth_routes_free, &request);
    }

    /** observed: how long it took; bytes: 0 for those of the request. */
    void report(const std::string &answer, std::chrono::nanoseconds observed,
                std::int64_t bytes = 0)
    {
        check(berth_report(handle(), answer.c_str(), observed.count(), bytes));
    }
    std::vector<report_kind> list_reports()
    {
        const auto c = own(berth_list_reports, berth_reports_free);
        return detail::list<report_kind>(c->kinds, c->kind_count);
    }

    /** places: none for the whole node. */
    libberth::health health(const texts &places = {})
    {
        const detail::texts_view view(places);
        return ask<libberth::health>(berth_check, berth_health_free,
                                     places.empty() ? nullptr : view.get().item, places.size());
    }

    libberth::node node() { return ask<libberth::node>(berth_get_node, berth_node_free); }

    libberth::matrix matrix(const matrix_request &from)
    {
        const detail::texts_view of(from.from), to(from.to);
        const detail::pairs_view where(from.where);
        const berth_matrix_request request = {from.metric.c_str(), of.get(), to.get(), where.get(),
                                              from.at_s.value_or(0)};
        return ask<libberth::matrix>(berth_get_matrix, berth_matrix_free, &request);
    }

    std::vector<metric> list_metrics()
    {
        const auto c = own(berth_list_metrics, berth_metrics_free);
        return detail::list<libberth::metric>(c->metrics, c->metric_count);
    }

    /** metric: nullopt for all. */
    libberth::contention contention(const std::optional<std::string> &metric = std::nullopt)
    {
        return ask<libberth::contention>(berth_get_contention, berth_contention_free,
                                         detail::pointer(metric));
    }

    libberth::kernel predict_kernel(const kernel_request &from)
    {
        const berth_kernel_request request = {
            from.place.c_str(), from.test,         from.degree, from.dofs,
            from.reads_bytes,   from.writes_bytes, from.flops};
        return ask<libberth::kernel>(berth_predict_kernel, berth_kernel_free, &request);
    }

    libberth::curves curves(const curves_request &from)
    {
        const detail::texts_view of(from.from), to(from.to);
        const detail::pairs_view where(from.where);
        const berth_curves_request request = {from.metric.c_str(), of.get(), to.get(), where.get()};
        return ask<libberth::curves>(berth_get_curves, berth_curves_free, &request);
    }

    std::vector<point> history(const history_request &from)
    {
        const detail::pairs_view where(from.where);
        const berth_history_request request = {from.metric.c_str(), from.from.c_str(),
                                               from.to.c_str(), where.get(),
                                               from.since_s.value_or(0)};
        const auto c = own(berth_get_history, berth_history_free, &request);
        return detail::list<point>(c->points, c->point_count);
    }

    libberth::tunings tuning(const tuning_request &from = {})
    {
        const berth_tuning_request request = {detail::pointer(from.place), detail::pointer(from.to),
                                              from.operation};
        return ask<libberth::tunings>(berth_get_tuning, berth_tunings_free, &request);
    }

    libberth::grant claim(const claim_request &from)
    {
        const detail::texts_view places(from.places);
        berth_claim_request request;
        berth_claim_request_init(&request);
        request.places = places.get();
        request.purpose = from.purpose;
        request.configuration = detail::pointer(from.configuration);
        request.key = detail::pointer(from.key);
        request.owner_pid = from.owner_pid.value_or(-1);
        request.owner_cgroup = detail::pointer(from.owner_cgroup);
        request.ttl_s = from.ttl.count();
        request.wait_s = from.wait ? from.wait->count() : -1;
        return ask<libberth::grant>(berth_claim, berth_grant_free, &request);
    }
    void release(const std::string &claim)
    {
        check(berth_release(handle(), claim.c_str(), nullptr, nullptr));
    }
    /** Returns the number of claims that ended: 0 when the caller has none of that key. */
    int release_key(const std::string &key)
    {
        int released = 0;
        check(berth_release(handle(), nullptr, key.c_str(), &released));
        return released;
    }
    libberth::claims list_claims()
    {
        return ask<libberth::claims>(berth_list_claims, berth_claims_free);
    }

    /** Calls any method: parameters and the reply are JSON. */
    std::string call(const std::string &method, const std::string &parameters = "{}")
    {
        char *reply = nullptr;
        check(berth_call(handle(), method.c_str(), parameters.c_str(), &reply));
        const std::unique_ptr<char, void (*)(void *)> owner(reply, std::free);
        return reply;
    }

  private:
    struct closes {
        void operator()(::berth *handle) const noexcept { berth_free(handle); }
    };
    using owned = std::unique_ptr<::berth, closes>;

    explicit connection(owned handle) : handle_(std::move(handle)) {}
    static owned made()
    {
        owned handle(berth_new());
        if (handle == nullptr)
            throw std::bad_alloc();
        return handle;
    }

    template <class C, class... Given, class... Arguments>
    std::unique_ptr<C, void (*)(C *)> own(int (*asked)(::berth *, Given...), void (*end)(C *),
                                          Arguments... arguments)
    {
        C *answer = nullptr;
        check(asked(handle(), arguments..., &answer));
        return std::unique_ptr<C, void (*)(C *)>(answer, end);
    }
    template <class Answer, class Call, class C, class... Arguments>
    Answer ask(Call asked, void (*end)(C *), Arguments... arguments)
    {
        return Answer(*own(asked, end, arguments...));
    }

    owned handle_;
};

} // namespace libberth

#endif
