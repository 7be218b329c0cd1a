using System.Globalization;
using RespBenchmark.CommandLine;
using RespBenchmark.Network;
using RespBenchmark.Reports;
using RespBenchmark.Saturation;

namespace RespBenchmark.Native;

/// <summary>The targets of a run: started where that was asked for, watched, reported.</summary>
internal sealed class TargetSet : IDisposable
{
    private readonly RunVerb _verb;
    private readonly Dictionary<string, string> _starts = [], _arguments = [];
    private readonly Dictionary<string, StartedServer> _started = [];
    private readonly Dictionary<string, TargetWatch> _watches = [];
    private readonly int _process;

    /// <exception cref="UsageException">An option's value is off.</exception>
    public TargetSet(RunVerb verb)
    {
        _verb = verb;
        All = TargetReader.Read(verb);
        _process = verb.ServerProcess switch
        {
            "auto" => 0,
            "off" => -1,
            _ => int.TryParse(verb.ServerProcess, NumberStyles.None, CultureInfo.InvariantCulture,
                out int process) ? process
                : throw new UsageException($"--server-pid takes auto, off or a process id, not '{verb.ServerProcess}'"),
        };
        if (verb.Restart is not ("each-rep" or "each-cell" or "never"))
            throw new UsageException($"--restart takes each-rep, each-cell or never, not '{verb.Restart}'");
        foreach (string start in verb.Start)
        {
            int equals = start.IndexOf('=', StringComparison.Ordinal);
            string name = equals > 0 ? start[..equals] : "";
            if (All.All(target => target.Name != name))
                throw new UsageException($"--start takes NAME=command with the name of a target, not '{start}'");
            _starts[name] = start[(equals + 1)..];
        }
    }

    public IReadOnlyList<Target> All { get; }

    /// <summary>What is seen of a target that was opened.</summary>
    public TargetWatch WatchOf(Target target) => _watches[target.Name];

    /// <summary>Starts what is ours to start, and looks at all.</summary>
    /// <exception cref="ConnectException">One cannot be reached.</exception>
    public void Open()
    {
        foreach (Target target in All) Open(target);
    }

    /// <summary>Whether a target is started anew before this repetition.</summary>
    public bool IsRestarted(Target target, int rep) =>
        _starts.ContainsKey(target.Name) && _verb.Restart != "never" && (_verb.Restart != "each-cell" || rep == 0);

    /// <summary>Whether a target's server is ours to start.</summary>
    public bool IsOurs(Target target) => _starts.ContainsKey(target.Name);

    /// <summary>Stops a server of ours and starts it again, from now on with more arguments than it was
    /// given.</summary>
    public void Restart(Target target, string arguments)
    {
        _arguments[target.Name] = arguments;
        Restart(target);
    }

    /// <summary>Stops a server of ours and starts it again, empty.</summary>
    public void Restart(Target target)
    {
        _started[target.Name].Dispose();
        _started.Remove(target.Name);
        Open(target);
    }

    /// <summary>The target as reports name it.</summary>
    public TargetReport ReportOf(Target target) =>
        _watches[target.Name].Report() with { Start = _starts.GetValueOrDefault(target.Name) };

    public void Dispose()
    {
        foreach (StartedServer server in _started.Values) server.Dispose();
    }

    private void Open(Target target)
    {
        if (_starts.TryGetValue(target.Name, out string? command) && !_started.ContainsKey(target.Name))
            _started[target.Name] = StartedServer.Start($"{command} {_arguments.GetValueOrDefault(target.Name)}",
                target, _verb.PinServer);
        _watches[target.Name] = TargetWatch.Open(
            target, _started.TryGetValue(target.Name, out StartedServer? started) ? started.ProcessId : _process);
    }
}
