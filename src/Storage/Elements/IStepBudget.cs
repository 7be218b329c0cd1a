namespace Kv.Storage;

/// <summary>How far a piece of an operation over many elements may go.</summary>
internal interface IStepBudget
{
    /// <summary>To be asked for once in a piece: what is a piece by itself.</summary>
    const int WholePiece = 1024;

    /// <summary>Asks for elements. The first of a piece are granted, so each piece gets on.</summary>
    /// <param name="count">Some tens at most, where it is bounded; or <see cref="WholePiece"/>.</param>
    /// <returns>False: the piece has to end.</returns>
    bool TryTake(long count = 1);

    /// <summary>Whether it may say no: then what could be done together is done some at a time.</summary>
    static abstract bool IsBounded { get; }
}

/// <summary>As far as there is: the whole operation is one piece.</summary>
internal readonly struct Unbounded : IStepBudget
{
    public static bool IsBounded => false;

    public bool TryTake(long count) => true;
}
