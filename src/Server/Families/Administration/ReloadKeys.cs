using System.Diagnostics;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>DEBUG RELOAD: every value is written as a snapshot has it, read again, and put in the place of the one it
/// came from.</summary>
/// <remarks>
/// No file is written yet, so this is the half of Redis' RELOAD that a test can see: what a value is after it was saved
/// and loaded, encodings included. For one who is alone with the store. Threads: one.
/// </remarks>
internal sealed unsafe class ReloadKeys(KvServer server, StoreSession session) : IDisposable
{
    private readonly RdbValueWriter _writer = new(server.Store);

    /// <summary>Does it for one database.</summary>
    /// <returns>Ok; or what went wrong with a value, which stays as it was. Those behind it are not reloaded.</returns>
    public RdbStatus Run(int database)
    {
        session.Select(database);
        var visit = new CollectKeys { Keys = [] };
        ulong cursor = 0;
        // Ends: the cursor comes round.
        do cursor = session.Scan(cursor, ref visit);
        while (cursor != 0);
        foreach (byte[] name in visit.Keys)
        {
            var status = Reload(session.Key(name));
            if (status != RdbStatus.Ok) return status;
        }

        return RdbStatus.Ok;
    }

    public void Dispose() => _writer.Dispose();

    private RdbStatus Reload(scoped in Key key)
    {
        using var held = session.Hold(key, DataType.Any);
        if (held.Status != StoreStatus.Ok) return RdbStatus.Ok;     // its time has passed
        ValueView value = held.Value.View;
        Debug.Assert(value.Exists, "a key that is held without being made has a value");
        long expiryMs = value.ExpiryMs;
        _writer.Output.Begin(server.Options.RdbCompression,
            value.FootprintBytes + (value.FootprintBytes / 4) + RdbOutput.BufferBytes);
        _writer.Write(value);
        DumpPayload.Finish(_writer.Output);
        if (_writer.Output.Status != StoreStatus.Ok) return RdbStatus.OutOfMemory;
        var written = _writer.Output.Written;
        fixed (byte* payload = written)
        {
            // No using: its variables are read-only, and what is stored would be taken from a copy.
            var reader = new PayloadReader(payload, written.Length, server.Store, Store.ValueBytesMax);
            try
            {
                var status = reader.Read(long.MaxValue);
                if (status != RdbStatus.Ok) return status;
                return reader.Value.Store(held.Value, expiryMs) == StoreStatus.Ok
                    ? RdbStatus.Ok : RdbStatus.OutOfMemory;
            }
            finally
            {
                reader.Dispose();
            }
        }
    }

    private struct CollectKeys : IRecordVisit
    {
        public List<byte[]> Keys;

        public readonly void Visit(ReadOnlySpan<byte> key, in ValueView value) => Keys.Add(key.ToArray());
    }
}
