using RespBenchmark.CommandLine;
using RespBenchmark.Network;
using RespBenchmark.Workload;

namespace RespBenchmark.Scenarios;

/// <summary>A workload of roles that plain operations cannot make: who waits for another, or tries again.</summary>
internal abstract class Scenario
{
    public static IReadOnlyList<Scenario> All { get; } =
    [
        new PubSub(), new BlockingPop(), new Transactions(), new Scripts(), new StreamGroup(), new Locks(),
        new ReadThrough(),
    ];

    public abstract string Name { get; }

    /// <summary>What a server must have.</summary>
    public abstract IReadOnlyList<string> Commands { get; }

    /// <summary>Latencies by name; the first is that of an operation, which the table shows.</summary>
    public abstract IReadOnlyList<string> Latencies { get; }

    /// <summary>Counts by name; those that end in _s are shown per second.</summary>
    public abstract IReadOnlyList<string> Counts { get; }

    /// <summary>What sessions of another role are called, as many as --peers says; null: there are none.</summary>
    public virtual string? PeerName => null;

    public bool HasPeers => PeerName is not null;

    /// <summary>Whether --keys and --dist say which keys collide.</summary>
    public bool Keyed => !HasPeers;

    /// <summary>Whether a session may have several operations outstanding.</summary>
    public virtual bool TakesDepth => true;

    /// <summary>Whether --value and --ttl may be distributions, and --trace may say the requests.</summary>
    public virtual bool TakesSizes => false;

    /// <summary>What is followed over the time of a run; null: nothing.</summary>
    public virtual TrackedShare? Share => null;

    /// <summary>Scripts that it calls by their hashes.</summary>
    public virtual IReadOnlyList<string> ScriptTexts => [];

    /// <exception cref="UsageException">There is none of this name.</exception>
    public static Scenario Find(string name) => All.FirstOrDefault(one => one.Name == name)
        ?? throw new UsageException($"--scenario takes {string.Join(", ", All.Select(one => one.Name))}, not '{name}'");

    /// <summary>What must be there before the connections are.</summary>
    public virtual void Prepare(ControlConnection control, ScenarioStage stage)
    {
    }

    /// <summary>The connections of one group: those that must know of each other.</summary>
    public abstract IEnumerable<Actor> Group(int group, ScenarioStage stage, ScenarioRecorder recorder);

    /// <summary>Keys that were made.</summary>
    public abstract IEnumerable<string> Keys(ScenarioStage stage);

    /// <summary>Keys whose values are numbers that add up to all updates; none: there is nothing to add up.</summary>
    public virtual IEnumerable<string> Counters(ScenarioStage stage) => [];

    /// <summary>Further figures out of the counts.</summary>
    public virtual IEnumerable<(string Name, double Value)> Figures(ScenarioStage stage, Func<string, long> countOf,
        long ops) => [];
}

/// <summary>How large a scenario is, and the names it uses.</summary>
/// <param name="Sessions">Connections that begin operations.</param>
/// <param name="Peers">Connections of the other role.</param>
/// <param name="Depth">Operations outstanding per session.</param>
/// <param name="Run">Tells the keys of this run from those of others.</param>
internal sealed record ScenarioStage(int Sessions, int Peers, int Depth, int ValueBytes, long KeyCount,
    Distribution Distribution, ulong Seed, string Run)
{
    /// <summary>Lengths of values, where they may vary.</summary>
    public Sizes Sizes { get; init; } = Sizes.Of(ValueBytes);

    /// <summary>Seconds that keys have to live; null: they do not expire.</summary>
    public Sizes? Ttl { get; init; }

    /// <summary>The requests themselves; null: they are drawn.</summary>
    public Trace? Trace { get; init; }

    /// <summary>Sessions and peers that have to do with each other, as many groups as can be.</summary>
    public int Groups(bool hasPeers) => hasPeers ? Math.Min(Sessions, Peers) : Sessions;

    /// <summary>The numbers of those of a group, out of so many in all.</summary>
    public IEnumerable<int> Of(int group, int all)
    {
        int groups = Groups(hasPeers: true);
        for (int number = group; number < all; number += groups) yield return number;
    }

    public string Key(string what, long number) => $"bench:{Run}:{what}:{number}";

    /// <summary>Names of one kind, by number.</summary>
    public IEnumerable<string> Names(string what, long count)
    {
        for (long number = 0; number < count; number++) yield return Key(what, number);
    }

    /// <summary>Draws the keys of one session.</summary>
    public KeyDraws Draws(int session) => new(this, session);
}

/// <summary>One session's draws of keys.</summary>
internal sealed class KeyDraws(ScenarioStage stage, int session)
{
    private readonly Draws _draws = stage.Distribution.Open(stage.KeyCount, new Seat(0, 1, stage.Sessions, stage.Seed));
    private Xoshiro256 _generator = new(SplitMix.Mix(stage.Seed + SplitMix.Mix((ulong)session)));
    private SessionStream _stream = new() { Session = session };

    public long Next() => _draws.Next(ref _generator, ref _stream);
}
