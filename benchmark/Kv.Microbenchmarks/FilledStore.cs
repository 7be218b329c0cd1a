using Kv.Storage;

namespace Kv.Microbenchmarks;

/// <summary>A store with so many keys of 8 bytes (the number itself) and values of 8, and a session on it.</summary>
internal sealed unsafe class FilledStore : IDisposable
{
    public FilledStore(long keys, long indexBytes = 0)
    {
        Store = new Store(new StoreOptions { IndexBytes = Math.Max(indexBytes, 64 * 1024) });
        Session = Store.CreateSession();
        for (long number = 0; number < keys; number++)
        {
            if ((number & 63) == 0) Begin();
            Set(number);
        }

        Begin();
    }

    public Store Store { get; }
    public StoreSession Session { get; }

    public void Begin()
    {
        Session.BeginTurn();
        Session.Select(0);
    }

    public void Set(long number)
    {
        var bytes = new ReadOnlySpan<byte>(&number, 8);
        if (Session.Set(Session.Key(bytes), bytes) != StoreStatus.Ok) throw new InvalidOperationException("no memory");
    }

    public void Dispose()
    {
        Session.Dispose();
        Store.Dispose();
    }
}

/// <summary>Reads 8 bytes.</summary>
internal struct TakeLong : IValueRead
{
    public long Sum;

    public void Read(in ValueView value) => Sum += BitConverter.ToInt64(value.Bytes);
}
