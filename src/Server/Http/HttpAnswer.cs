using Kv.Server.Reports;

namespace Kv.Server.Http;

/// <summary>Makes a page: writes it, and returns the head of the reply. Threads: the pool's.</summary>
internal delegate byte[] PageMaker(PageBuffer page);

/// <summary>What a request gets: a whole reply, or a page that is yet to be made.</summary>
/// <param name="Reply">Null where <paramref name="Make"/> is not.</param>
/// <param name="DelayMs">How long the reply has to wait: somebody guesses passwords.</param>
internal readonly record struct HttpAnswer(byte[]? Reply, PageMaker? Make = null, long DelayMs = 0);
