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

/// <summary>How a line of the log is written.</summary>
public enum LogFormat
{
    /// <summary>Time, level, part, text.</summary>
    Text,

    /// <summary>An object of JSON a line.</summary>
    Json,

    /// <summary>Names and values, <c>level=notice msg="..."</c>.</summary>
    Logfmt,
}

/// <summary>Who is told that the server is ready, reloads or stops.</summary>
public enum Supervision
{
    /// <summary>Nobody.</summary>
    No,

    /// <summary>systemd, where NOTIFY_SOCKET says; without it the log says so.</summary>
    Systemd,

    /// <summary>systemd, if there is a NOTIFY_SOCKET.</summary>
    Auto,
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
