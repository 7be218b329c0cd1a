namespace Kv.Server.Reports;

/// <summary>The sections of INFO, in the order in which they are shown.</summary>
internal enum InfoSection
{
    Server, Clients, Memory, Persistence, Stats, Replication, Cpu, Modules, CommandStats, ErrorStats, LatencyStats,
    Cluster, Keyspace,

    /// <summary>Which keys are used most. This and the next: our own, and only shown when they are named.</summary>
    HotKeys,

    /// <summary>Which keys are largest.</summary>
    BigKeys,
}

/// <summary>Some sections of INFO.</summary>
internal readonly record struct InfoSections(int Bits)
{
    public static InfoSections None => default;
    public static InfoSections Everything => new((1 << (int)InfoSection.Keyspace + 1) - 1);

    /// <summary>INFO EVERYTHING HOTKEYS BIGKEYS.</summary>
    public static InfoSections WithKeys => new((1 << (int)InfoSection.BigKeys + 1) - 1);

    /// <summary>INFO ALL: everything but what modules add.</summary>
    public static InfoSections All => new(Everything.Bits & ~(1 << (int)InfoSection.Modules));

    /// <summary>INFO without a name.</summary>
    public static InfoSections Default =>
        new(Everything.Bits & ~(1 << (int)InfoSection.CommandStats | 1 << (int)InfoSection.LatencyStats));

    public bool Has(InfoSection section) => (Bits & (1 << (int)section)) != 0;

    /// <summary>Adds the sections that an argument of INFO names, in any case. An unknown name adds nothing.</summary>
    public InfoSections With(ReadOnlySpan<char> name)
    {
        if (name.Equals("everything", StringComparison.OrdinalIgnoreCase)) return new(Bits | Everything.Bits);
        if (name.Equals("all", StringComparison.OrdinalIgnoreCase)) return new(Bits | All.Bits);
        if (name.Equals("default", StringComparison.OrdinalIgnoreCase)) return new(Bits | Default.Bits);
        for (var section = InfoSection.Server; section <= InfoSection.BigKeys; section++)
        {
            if (name.Equals(section.ToString(), StringComparison.OrdinalIgnoreCase))
                return new(Bits | 1 << (int)section);
        }
        return this;
    }
}
