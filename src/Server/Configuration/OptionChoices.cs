namespace Kv.Server.Configuration;

// The words that options choose from. Each name here is the word in CONFIG, in .NET casing.

/// <summary>How the server talks to its sockets.</summary>
public enum TransportKind
{
    /// <summary>A fixed pool of threads, each with an epoll of its own. Linux, TCP and unix sockets.</summary>
    Epoll,

    /// <summary>Pipes over streams on the .NET thread pool. Runs everywhere.</summary>
    Pipelines,
}

/// <summary>Who may use something dangerous.</summary>
public enum AllowedFor
{
    /// <summary>Nobody.</summary>
    No,

    /// <summary>Every client.</summary>
    Yes,

    /// <summary>Clients on a loopback address or a unix socket.</summary>
    Local,
}

/// <summary>The least important kind of line that is logged.</summary>
public enum LogVerbosity
{
    Debug,
    Verbose,
    Notice,
    Warning,
    Nothing,
}
