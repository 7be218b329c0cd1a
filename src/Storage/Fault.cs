using System.Globalization;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>Names the places where an exception, or the end of the process, is worth testing.</summary>
/// <remarks>
/// Off, unless the process was started with <c>KV_FAULT=point:n</c> (the n-th pass throws) or
/// <c>KV_FAULT=point:n:kill</c> (it ends the process as a kill would), or with the runtime's switch <c>Kv.Fault</c>, as
/// the tests are: then <see cref="Arm"/> says where.
/// Cost: <see cref="IsOn"/> is a constant once a method is compiled for good, so nothing is left of a point that is
/// off. Static, against the habit: a point is passed where no server, store or option is at hand.
/// Threads: any.
/// </remarks>
internal static class Fault
{
    /// <summary>All points of the source; a test holds the two against each other.</summary>
    public static readonly string[] Points =
    [
        // A record is locked, or made and not yet known to anybody.
        "read.locked", "update.decide", "record.build", "record.publish", "record.write", "block.fill", "expiry.slot",
        "keys.lock",

        // The parts that records come from and go to.
        "segment.open", "database.create", "index.split", "index.merge", "flush.publish", "swap.publish",

        // The store's own thread.
        "upkeep.round", "upkeep.yield", "evict.batch", "expiry.sweep", "expiry.fields", "reclaim.copy",
            "reclaim.publish",
        "walk.segment", "deferred.run",

        // A snapshot: what is written, and the steps that make a file of it.
        "rdb.write", "rdb.sync", "rdb.rename",

        // The append-only file.
        "aof.write", "aof.sync", "aof.manifest", "aof.load",

        // The stream of replicas.
        "replica.write",

        // A session, and what a worker does for several of them.
        "command.run", "worker.turn", "worker.inbox", "reply.send",

        // Lists of subscribers.
        "pubsub.join", "pubsub.note", "pubsub.leave", "pubsub.publish", "pubsub.push", "message.write",
            "transaction.command", "monitor.line",

        // Another thread reads the text of a script.
        "script.read",
    ];

    public static readonly bool IsOn =
        (AppContext.TryGetSwitch("Kv.Fault", out bool isSet) && isSet)
        || Environment.GetEnvironmentVariable("KV_FAULT") is { Length: > 0 };

    private static Armed? s_armed = FromEnvironment();

    /// <summary>For tests: called at each pass of every point by the thread that passes it. To hold it up there, so
    /// that others meet it.</summary>
    public static Action<string>? AtEveryPoint { get; set; }

    /// <summary>A place where something may go wrong.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static void Point(string name)
    {
        if (IsOn) Pass(name);
    }

    /// <summary>Makes the n-th pass of a point throw, once.</summary>
    /// <param name="thread">Only passes of this thread count; null: of any.</param>
    /// <returns>What was armed. Disposing it disarms.</returns>
    public static Armed Arm(string name, int nth = 1, Thread? thread = null)
    {
        if (!IsOn) throw new InvalidOperationException("The process was started without the switch Kv.Fault.");
        if (!Points.Contains(name)) throw new ArgumentException($"There is no point {name}.", nameof(name));
        var armed = new Armed(name, nth, thread, kills: false);
        Volatile.Write(ref s_armed, armed);
        return armed;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Pass(string name)
    {
        if (Volatile.Read(ref s_armed) is { } armed && armed.Name == name) armed.Pass();
        AtEveryPoint?.Invoke(name);
    }

    private static Armed? FromEnvironment()
    {
        string[] parts = (Environment.GetEnvironmentVariable("KV_FAULT") ?? "").Split(':');
        if (parts.Length is < 2 or > 3 || !Points.Contains(parts[0])) return null;
        bool isNumber = int.TryParse(parts[1], NumberStyles.None, CultureInfo.InvariantCulture, out int nth);
        return isNumber ? new Armed(parts[0], nth, null, parts.Length == 3 && parts[2] == "kill") : null;
    }

    /// <summary>A point that something is to happen at.</summary>
    internal sealed class Armed(string name, int nth, Thread? thread, bool kills) : IDisposable
    {
        private int _passes;

        public string Name => name;

        /// <summary>Whether it has happened.</summary>
        public bool Fired => Volatile.Read(ref _passes) >= nth;

        public void Dispose() => Interlocked.CompareExchange(ref s_armed, null, this);

        internal void Pass()
        {
            if (thread != null && thread != Thread.CurrentThread) return;
            if (Interlocked.Increment(ref _passes) != nth) return;
            if (kills) System.Diagnostics.Process.GetCurrentProcess().Kill();
            throw new FaultException(name);
        }
    }
}

/// <summary>What an armed point throws.</summary>
internal sealed class FaultException(string name) : Exception($"made to happen at {name}");
