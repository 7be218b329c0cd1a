using RespBenchmark.CommandLine;
using RespBenchmark.Network;

namespace RespBenchmark.Garnet;

/// <summary>Asks the server for a SAVE every few seconds, on a connection and a thread of its own.</summary>
internal sealed class PeriodicSave : IDisposable
{
    private readonly ManualResetEventSlim _end = new();
    private readonly ControlConnection? _connection;
    private readonly Thread? _thread;

    private PeriodicSave(GarnetOptions options, Surroundings surroundings)
    {
        if (options.SaveFrequency == 0) return;
        _connection = ControlConnection.Open(options.Target);
        _thread = new Thread(() => Save(TimeSpan.FromSeconds(options.SaveFrequency), surroundings)) {
            IsBackground = true, Name = "save" };
        _thread.Start();
    }

    /// <summary>Begins; does nothing when no saves are asked for.</summary>
    public static PeriodicSave Start(GarnetOptions options, Surroundings surroundings) => new(options, surroundings);

    public void Dispose()
    {
        _end.Set();
        _thread?.Join();
        _connection?.Dispose();
        _end.Dispose();
    }

    private void Save(TimeSpan period, Surroundings surroundings)
    {
        try
        {
            // Ends: when the run disposes of it, or the server is gone.
            while (!_end.Wait(period))
            {
                var reply = _connection!.Send("SAVE");
                if (reply.IsError) surroundings.Note($"SAVE: {reply.Text}");
            }
        }
        catch (TargetException failed)
        {
            surroundings.Note($"SAVE: {failed.Message}");
        }
    }
}
