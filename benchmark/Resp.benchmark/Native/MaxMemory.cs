using Kv.Protocol;
using RespBenchmark.Network;

namespace RespBenchmark.Native;

/// <summary>Sets the maxmemory of a server for as long as a cell lasts.</summary>
internal sealed class MaxMemory : IDisposable
{
    private const string Name = "maxmemory";

    private readonly Target _target;
    private readonly string _before;

    /// <exception cref="TargetException">The server refuses.</exception>
    public MaxMemory(Target target, long bytes)
    {
        _target = target;
        using ControlConnection control = ControlConnection.Open(target);
        RespValue before = control.Send("CONFIG", "GET", Name);
        _before = !before.IsError && before.Elements is [_, var value] ? value.Text : "0";
        if (control.Send("CONFIG", "SET", Name, $"{bytes}") is { IsError: true } refused)
            throw new TargetException($"CONFIG SET {Name} {bytes}: {refused.Text}");
    }

    public void Dispose()
    {
        try
        {
            using ControlConnection control = ControlConnection.Open(_target);
            control.Send("CONFIG", "SET", Name, _before);
        }
        catch (Exception failure) when (failure is ConnectException or TargetException)
        {
            // The server is gone, and its limit with it.
        }
    }
}
