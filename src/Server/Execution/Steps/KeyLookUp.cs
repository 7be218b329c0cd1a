using System.Diagnostics;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>A command of EXEC over very many keys: looks up where EXEC has them, a piece at a time, then begins the
/// command once more, on what was found.</summary>
/// <remarks>Threads: whoever steps the transaction.</remarks>
/// <param name="first">The place of the first key among the arguments.</param>
/// <param name="count">How many follow each other.</param>
/// <param name="destination">The place of one that comes before them; 0: there is none.</param>
internal sealed class KeyLookUp(KeyPlaces places, int first, int count, int destination) : ICommandSteps, IDisposable
{
    /// <inheritdoc/>
    public bool Holds => false;     // EXEC does

    /// <inheritdoc/>
    public bool Step(ref CommandContext context)
    {
        Debug.Assert(context.InTransaction, "the keys are a transaction's");
        Debug.Assert(context.Places == null, "the command did not look its keys up twice");
        int ahead = destination == 0 ? 0 : 1, database = context.Session.Database;
        int end = count + ahead;
        for (var step = new KeyStep(places.Count, end); step.Takes(places.Count);)
        {
            int index = places.Count < ahead ? destination : first + places.Count - ahead;
            places.Add(context.Args[index].Span, database);
        }

        if (places.Count < end) return false;
        context.Places = places;
        try
        {
            context.Command.Handler!(ref context);
        }
        finally
        {
            context.Places = null;
            Dispose();
        }

        return true;
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        if (!places.AreInUse) places.Dispose();
    }
}
