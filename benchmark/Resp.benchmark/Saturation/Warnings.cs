using System.Globalization;

namespace RespBenchmark.Saturation;

/// <summary>Known traps: what makes figures of a server, a host or this client mean less than they seem to.</summary>
internal static class Warnings
{
    /// <summary>What the warning of more I/O threads than cores begins with: the loudest of them.</summary>
    public const string SpinningThreads = "io-threads";

    /// <summary>What the server says of itself.</summary>
    /// <param name="sessions">Connections that are going to be opened.</param>
    /// <param name="serverCores">Processors that its process may use; 0 when it is not seen.</param>
    public static IEnumerable<string> OfServer(ServerFacts facts, int sessions, int serverCores)
    {
        long ioThreads = facts.Setting("io-threads") ?? 1;
        // Valid for servers whose I/O threads spin: they engage all once writes wait from 2 x io-threads clients.
        if (serverCores > 0 && ioThreads > serverCores && !facts.Info.ContainsKey("kv_version"))
            yield return Text($"{SpinningThreads} {ioThreads} > {serverCores} cores of the server: ")
                + "its I/O threads spin against each other; "
                + Text($"set io-threads to at most {Math.Max(1, serverCores / 2)}");
        if (facts.Config.GetValueOrDefault("appendonly") == "yes") yield return "appendonly is on: writes go to a file";
        if (facts.Config.TryGetValue("save", out string? save) && save.Length > 0)
            yield return $"save \"{save}\" is set: a snapshot may begin while measuring";
        if (facts.Number("rdb_bgsave_in_progress") > 0 || facts.Number("aof_rewrite_in_progress") > 0)
            yield return "a save or rewrite is running";
        if (facts.Number("loading") > 0) yield return "the server is loading its data";
        if (facts.Setting("maxclients") is { } maxclients && maxclients < sessions + 8)
            yield return Text($"maxclients {maxclients} is too low for {sessions} sessions");
        if (facts.Setting("maxmemory") is > 0 and var maxmemory
            && facts.Config.GetValueOrDefault("maxmemory-policy") is { } policy && policy != "noeviction")
            yield return Text($"maxmemory {maxmemory} with {policy}: keys may be evicted while measuring");
        if (facts.Info.GetValueOrDefault("mem_allocator") == "libc" && facts.Info.ContainsKey("redis_build_id")
            && facts.Info.GetValueOrDefault("gcc_version") == "0.0.0")
            yield return "the server may be a debug build";
        if (facts.Info.GetValueOrDefault("build_configuration") == "Debug") yield return "the server is a debug build";
        if (facts.Number("monitor_clients") > 0) yield return "a client runs MONITOR";
    }

    /// <summary>What changed on the server while it was loaded.</summary>
    public static IEnumerable<string> OfRun(ServerFacts before, ServerFacts after, long? keysExpected, long keysFound)
    {
        if ((after.Number("evicted_keys") ?? 0) - (before.Number("evicted_keys") ?? 0) is > 0 and var evicted)
            yield return Text($"{evicted} keys were evicted while measuring");
        if (keysExpected is { } expected && keysFound < expected)
            yield return Text($"DBSIZE says {keysFound} keys, {expected} were expected");
        if ((after.Number("rejected_connections") ?? 0) > (before.Number("rejected_connections") ?? 0))
            yield return "the server refused connections";
        if (after.Number("uptime_in_seconds") < before.Number("uptime_in_seconds"))
            yield return "the server was restarted while measuring";
    }

    /// <summary>What the host is like.</summary>
    /// <param name="here">Whether the server runs here too.</param>
    /// <param name="remedy">What parts the cores of client and server.</param>
    public static IEnumerable<string> OfHost(bool here, IReadOnlyList<int> clientCores, IReadOnlyList<int> serverCores,
        string remedy)
    {
        if (Read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") is { } governor && governor != "performance")
            yield return $"the CPU governor is {governor}, not performance";
        if (Read("/sys/kernel/mm/transparent_hugepage/enabled") is { } pages
            && pages.Contains("[always]", StringComparison.Ordinal))
            yield return "transparent huge pages are [always]: a fork-and-save server may stall";
        if (!here || serverCores.Count == 0) yield break;
        int shared = clientCores.Intersect(serverCores).Count();
        bool pinned = clientCores.Count < Environment.ProcessorCount || serverCores.Count < Environment.ProcessorCount;
        if (shared > 0 && pinned) yield return Text($"client and server are pinned, but share {shared} cores");
        else if (shared > 0) yield return Text($"client and server share {shared} cores: {remedy}");
    }

    /// <summary>What this program is like.</summary>
    public static IEnumerable<string> OfClient()
    {
        if (System.Diagnostics.Debugger.IsAttached) yield return "a debugger is attached to the client";
#if DEBUG
        yield return "the client is a debug build: run with -c Release";
#endif
    }

    private static string Text(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);

    private static string? Read(string path)
    {
        try
        {
            return File.Exists(path) ? File.ReadAllText(path).Trim() : null;
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }
}
