namespace RespBenchmark.NullServer;

/// <summary>What a null server answers, and what it does wrong on purpose.</summary>
internal sealed record NullServerOptions
{
    public string Host { get; init; } = "127.0.0.1";

    /// <summary>0: any free one.</summary>
    public int Port { get; init; }

    /// <summary>A unix socket in the place of host and port.</summary>
    public string? UnixPath { get; init; }

    public int Threads { get; init; } = 1;

    /// <summary>Null: by the command's name. Else this to every command: ok, pong, one, nil, empty, or raw RESP with
    /// \r\n written out.</summary>
    public string? Reply { get; init; }

    /// <summary>Bytes of the values in replies.</summary>
    public int ValueBytes { get; init; } = 8;

    /// <summary>Elements of the arrays in replies of no known length, LRANGE's for one.</summary>
    public int Elements { get; init; } = 10;

    /// <summary>What DBSIZE says.</summary>
    public long Keys { get; init; }

    /// <summary>Slept before each turn's replies.</summary>
    public TimeSpan Delay { get; init; }

    /// <summary>All loops sleep this long ...</summary>
    public TimeSpan Stall { get; init; }

    /// <summary>... once in each of these.</summary>
    public TimeSpan StallEvery { get; init; } = TimeSpan.FromSeconds(10);

    public NullFault Fault { get; init; }

    /// <summary>Every so many-th reply of a connection is the faulty one.</summary>
    public int FaultEvery { get; init; } = 1000;

    /// <summary>Replies leave in pieces of 1, 2, 3 ... 64 bytes, one a turn.</summary>
    public bool Split { get; init; }
}

/// <summary>What a null server does wrong.</summary>
internal enum NullFault
{
    None,

    /// <summary>An error reply.</summary>
    Errors,

    /// <summary>A reply of another type.</summary>
    Type,

    /// <summary>Bytes that are no RESP.</summary>
    Bytes,

    /// <summary>Half a reply, then the end of the connection.</summary>
    Short,

    /// <summary>The end of the connection in the place of a reply.</summary>
    Close,

    /// <summary>No reply any more, and the connection stays open.</summary>
    Hang,

    /// <summary>A value of other bytes, its length right.</summary>
    Value,
}
