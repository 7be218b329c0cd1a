namespace RespBenchmark.Workload;

/// <summary>Where a session is in its stream of commands; default is its beginning.</summary>
internal struct SessionStream
{
    /// <summary>The session's number among all of the cell.</summary>
    public int Session;

    /// <summary>Commands begun so far.</summary>
    public long Begun;

    /// <summary>Commands begun since the batch began; the engine sets 0 at each batch, sources of batches with halves
    /// read it.</summary>
    public int InBatch;

    /// <summary>Inside a long command: which command, which piece of it, and how many of the piece's bytes are
    /// out.</summary>
    public int CutKind, CutPiece;

    public long CutOffset;

    /// <summary>What the cut command drew, so that its rest agrees with its start.</summary>
    public long CutDraw;
}
